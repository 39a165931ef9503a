// Runs before a page's own scripts: remembers which elements listen to the mouse, which cannot be asked for later.
(() => {
  const mouse = /^(click|dblclick|mouse(down|up|over|move|enter)|pointer(down|up|over|move|enter))$/;
  const add = EventTarget.prototype.addEventListener;
  window.listeningToTheMouse = new Set();
  EventTarget.prototype.addEventListener = function (kind, ...rest) {
    if (mouse.test(kind) && this instanceof Element) window.listeningToTheMouse.add(this);
    return add.call(this, kind, ...rest);
  };
})();
