// What page_checks.py asks a page: window.checks.
window.checks = (() => {
  const focusable =
    'a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, iframe, audio[controls], ' +
    'video[controls], [contenteditable=""], [contenteditable=true], [tabindex]';
  const acting =
    '[role=button], [role=link], [role=checkbox], [role=switch], [role=tab], [role=menuitem], [role=option], ' +
    '[role=slider], [role=treeitem], [onclick]';
  // Widgets of which Tab reaches one part, and arrow keys the others.
  const composite =
    '[role=tablist], [role=toolbar], [role=menu], [role=menubar], [role=listbox], [role=tree], [role=grid], ' +
    '[role=treegrid], [role=radiogroup], [role=application]';

  const clipped = new Set(['hidden', 'clip', 'auto', 'scroll']);
  let ignored = '';

  const left_out = element => ignored !== '' && element.closest(ignored) !== null;

  const visible = element =>
    element.checkVisibility({visibilityProperty: true}) && !element.closest('[inert]') &&
    [...element.getClientRects()].some(box => box.width > 1 && box.height > 1);

  const what = element => {
    const kind = element.tagName.toLowerCase();
    const id = element.id ? '#' + element.id : '';
    const kinds = [...element.classList].slice(0, 2).map(name => '.' + name).join('');
    const words = element.getAttribute('aria-label') || element.textContent || element.value || '';
    const text = words.trim().replace(/\s+/g, ' ');
    return `<${kind}${id}${kinds}>` + (text ? ` '${text.length > 40 ? text.slice(0, 39) + '…' : text}'` : '');
  };

  // --- width, head -----------------------------------------------------------------------------------------------

  // What reaches over the right edge, and does not lie in something that scrolls: the innermost ones.
  const wide = () => {
    const root = document.scrollingElement;
    if (root.scrollWidth <= innerWidth) return [];
    const over = [...document.body.querySelectorAll('*')].filter(element => {
      if (!visible(element) || element.getBoundingClientRect().right + scrollX <= innerWidth + 0.5) return false;
      for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement)
        if (clipped.has(getComputedStyle(outer).overflowX)) return false;
      return true;
    });
    const innermost = over.filter(element => !over.some(other => other !== element && element.contains(other)));
    const names = innermost.slice(0, 3).map(what).join(', ');
    return [`${root.scrollWidth} pixels wide, ${innerWidth} are there: ${names || 'no element of its own'}`];
  };

  const head = () => {
    const problems = [];
    if (!document.title.trim()) problems.push('no title');
    if (!document.documentElement.lang) problems.push('no language: <html lang=…>');
    if (!/width=device-width/.test(document.querySelector('meta[name=viewport]')?.content || ''))
      problems.push('telephones draw it as wide as a desk: no <meta name=viewport content="width=device-width">');
    const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
    for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) problems.push(`the id ${id} twice`);
    return problems;
  };

  // --- keyboard --------------------------------------------------------------------------------------------------

  const seen = ['outlineStyle', 'outlineWidth', 'outlineColor', 'boxShadow', 'borderTopColor', 'borderTopWidth',
    'borderBottomColor', 'borderBottomWidth', 'backgroundColor', 'color', 'textDecorationLine', 'fill', 'stroke',
    'strokeWidth', 'opacity', 'transform'];
  const look = element => {
    const style = getComputedStyle(element);
    return seen.map(name => style[name]);
  };
  const looks = element => [element, ...(element.labels || [])].map(look).flat().join('|');

  let wanted = [];
  let before = new Map();
  let reached = new Set();
  let unseen = [];

  const in_composite = element =>
    element.getAttribute('tabindex') === '-1' && element.closest(composite) !== null;

  const in_group = element =>
    element.type === 'radio' &&
    [...reached].some(other => other.type === 'radio' && other.name === element.name && other.form === element.form);

  const start_keyboard = () => {
    document.activeElement?.blur();
    getSelection().removeAllRanges();
    scrollTo(0, 0);
    const all = [...document.querySelectorAll(focusable + ', ' + acting)];
    wanted = all.filter(element =>
      visible(element) && !element.disabled && !left_out(element) &&
      (element.getAttribute('tabindex') !== '-1' || element.matches(acting + ', a[href], button, input')));
    before = new Map(wanted.map(element => [element, looks(element)]));
    reached = new Set();
    unseen = [];
    return wanted.length;
  };

  const shows_focus = element => {
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    const changed = before.has(element) && before.get(element) !== looks(element);
    const beside = box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth;
    return (outlined || changed) && !beside;
  };

  // After each Tab: whether to press it once more. The page may still be moving to where the focus is.
  const after_tab = async () => {
    const at = document.activeElement;
    if (!at || at === document.body || at === document.documentElement || reached.has(at)) return false;
    reached.add(at);
    for (let waited = 0; !left_out(at) && !shows_focus(at); ++waited) {
      if (waited === 10) {
        unseen.push(at);
        break;
      }
      await new Promise(requestAnimationFrame);
    }
    return true;
  };

  const end_keyboard = () => {
    const problems = [];
    for (const element of wanted)
      if (!reached.has(element) && !in_composite(element) && !in_group(element))
        problems.push(`Tab does not reach ${what(element)}`);
    for (const element of unseen) problems.push(`nobody sees that the focus is on ${what(element)}`);
    for (const element of new Set([...wanted, ...reached]))
      if (!left_out(element) && element.matches(focusable + ', ' + acting) && !(element.computedName || '').trim())
        problems.push(`no name for ${what(element)} of role ${element.computedRole || 'none'}`);
    const holds = element => [...reached].some(other => element.contains(other) || other.contains(element)) ||
      [...wanted].some(other => in_composite(other) && element.contains(other));
    const mouse = new Set(window.listeningToTheMouse);
    const hand = element => getComputedStyle(element).cursor === 'pointer';
    for (const element of document.body.querySelectorAll('*'))
      if (hand(element) && !hand(element.parentElement)) mouse.add(element);
    mouse.delete(document.body);
    mouse.delete(document.documentElement);
    for (const element of mouse) {
      if (!element.isConnected || !visible(element) || left_out(element) || element.closest('[disabled]')) continue;
      if (!holds(element) && !reached.has(element.closest('label')?.control))
        problems.push(`only the mouse reaches ${what(element)}`);
    }
    document.activeElement?.blur();
    scrollTo(0, 0);
    return problems;
  };

  // --- drawings --------------------------------------------------------------------------------------------------

  const told = element => {
    if (element.tagName === 'IMG' && element.hasAttribute('alt') && element.alt === '') return true;
    if ((element.computedName || '').trim()) return true;
    const by = ['aria-describedby', 'aria-details'].flatMap(name => (element.getAttribute(name) || '').split(/\s+/));
    if (by.some(id => id && document.getElementById(id)?.textContent.trim())) return true;
    return element.closest('figure')?.querySelector('table') != null;
  };

  const drawings = () => {
    const problems = [];
    for (const element of document.querySelectorAll('svg, canvas, img')) {
      if (!visible(element) || left_out(element) || element.parentElement.closest('svg')) continue;
      const box = element.getBoundingClientRect();
      const hidden = element.closest('[aria-hidden=true], [role=presentation], [role=none]') !== null;
      const small = box.width <= 48 && box.height <= 48;
      const holder = element.closest(focusable + ', ' + acting + ', label');
      if (small && (hidden || (holder && (holder.computedName || holder.textContent).trim()))) continue;
      if (hidden && element.closest('figure')?.querySelector('table')) continue;
      if (hidden || !told(element)) problems.push(`neither a table nor words for ${what(element)}`);
      if (element.tagName === 'svg') problems.push(...written(element, box));
    }
    return problems;
  };

  // Texts in a drawing that cover each other, or that its edge cuts off.
  const written = (drawing, box) => {
    const problems = [];
    const texts = [];
    const cuts = clipped.has(getComputedStyle(drawing).overflowX);
    for (const element of drawing.querySelectorAll('text')) {
      const place = element.getBoundingClientRect();
      const shown = element.checkVisibility({visibilityProperty: true, opacityProperty: true});
      if (!shown || !element.textContent.trim()) continue;
      const turned = element.getCTM();
      if (turned && Math.abs(turned.b) > 0.01 && Math.abs(turned.a) > 0.01) continue;
      const beside = place.left < box.left - 2 || place.right > box.right + 2;
      if (cuts && (beside || place.top < box.top - 4 || place.bottom > box.bottom + 4))
        problems.push(`cut off in ${what(drawing).split(' ')[0]}: ${what(element)}`);
      texts.push([place, element]);
    }
    texts.sort((a, b) => a[0].left - b[0].left);
    for (let i = 0; i < texts.length; ++i)
      for (let j = i + 1; j < texts.length && texts[j][0].left < texts[i][0].right - 2; ++j) {
        const [a, b] = [texts[i][0], texts[j][0]];
        const both = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (both > 0.4 * Math.min(a.height, b.height))
          problems.push(`one over the other: ${what(texts[i][1])}, ${what(texts[j][1])}`);
      }
    return problems;
  };

  // --- contrast --------------------------------------------------------------------------------------------------

  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const parsed = new Map();
  const rgba = color => {
    if (!parsed.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      parsed.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return parsed.get(color);
  };

  // The largest box of an element's own text, as far as what is around it shows it; in pixels of the page.
  const text_box = element => {
    const range = document.createRange();
    let largest = null;
    for (const node of element.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      range.selectNodeContents(node);
      for (const box of range.getClientRects())
        if (!largest || box.width * box.height > largest.width * largest.height) largest = box;
    }
    if (!largest) return null;
    let [left, top, right, bottom] = [largest.left, largest.top, largest.right, largest.bottom];
    for (let outer = element; outer && outer !== document.documentElement; outer = outer.parentElement) {
      const style = getComputedStyle(outer);
      if (style.display === 'inline' || !(clipped.has(style.overflowX) || clipped.has(style.overflowY))) continue;
      const box = outer.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    [left, right] = [Math.max(left, 0), Math.min(right, innerWidth)];
    if (right - left < 3 || bottom - top < 3) return null;
    return [left + scrollX, top + scrollY, right + scrollX, bottom + scrollY];
  };

  // Of each text: where it is, its color with its opacity, whether it counts as large.
  const texts = selectors => {
    const found = [];
    for (const element of document.querySelectorAll(selectors)) {
      if (!visible(element) || left_out(element) || element.closest(':disabled, [aria-disabled=true]')) continue;
      const box = text_box(element);
      if (!box) continue;
      const style = getComputedStyle(element);
      const drawn = element instanceof SVGElement;
      if (drawn && style.fill.startsWith('url')) continue;
      const color = [...rgba(drawn ? style.fill : style.color)];
      let opacity = (color[3] / 255) * (drawn ? parseFloat(style.fillOpacity) : 1);
      for (let outer = element; outer; outer = outer.parentElement)
        opacity *= parseFloat(getComputedStyle(outer).opacity);
      if (opacity < 0.02) continue;
      const scale = (drawn && element.getScreenCTM?.()) || {a: 1, b: 0};
      const pixels = parseFloat(style.fontSize) * Math.hypot(scale.a, scale.b);
      const large = pixels >= 24 || (pixels >= 18.66 && parseInt(style.fontWeight) >= 700);
      found.push({box, color: color.slice(0, 3), opacity, large, what: what(element)});
    }
    return found;
  };

  // --- opening ---------------------------------------------------------------------------------------------------

  // Opens what is closed; returns how many were.
  const open_all = () => {
    const closed = [...document.querySelectorAll('details:not([open])')].filter(element => !left_out(element));
    for (const element of closed) element.open = true;
    return closed.length;
  };

  return {
    ignore: selector => { ignored = selector; },
    wide, head, start_keyboard, after_tab, end_keyboard, drawings, texts, open_all,
  };
})();
