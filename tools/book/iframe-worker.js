// Of the book: a page that was opened from a file may not start the worker that searches, and without it its scripts
// end. Here the worker's script runs in a hidden frame of the page. (Loaded in place of the package of this name.)
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement('iframe');
      const script = document.createElement('script');
      script.src = new URL(address, location);
      frame.hidden = true;
      frame.title = 'search';
      frame.srcdoc = '<!doctype html>';
      this.ready = new Promise(resolve => {
        frame.onload = () => {
          frame.onload = null;
          frame.contentWindow.postMessage = data => this.dispatchEvent(new MessageEvent('message', {data}));
          script.onload = () => resolve(frame.contentWindow);
          frame.contentDocument.body.append(frame.contentDocument.adoptNode(script));
        };
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then(inside => inside.dispatchEvent(new inside.MessageEvent('message', {data})));
    }
  };
}
