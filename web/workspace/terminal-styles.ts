/**
 * The page's policy forbids style elements and style attributes, which could hold anything; the terminal makes both, all its life and
 * from the page's own document. Until the answer is called they are written through the object model, which the policy allows: as
 * sheets of their own, and as properties. Nothing else of this page makes elements in this way.
 */
export function allowStyles(): () => void {
  const sheets = new Set<CSSStyleSheet>()
  const createElement = (name: string): HTMLElement => {
    const element = Document.prototype.createElement.call(document, name === 'style' ? 'template' : name)
    if (name === 'style') sheets.add(redirected(element))
    return name === 'span' ? dressed(element) : element
  }
  Object.defineProperty(document, 'createElement', { value: createElement, configurable: true })
  return () => {
    if (document.createElement === createElement) Reflect.deleteProperty(document, 'createElement')
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter(sheet => !sheets.has(sheet))
  }
}

/** What stands for a style element: its text becomes a sheet of the page. */
function redirected(element: HTMLElement): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  Object.defineProperty(element, 'textContent', { set: (text: string) => sheet.replaceSync(text) })
  return sheet
}

/** Its style attribute is set as properties. */
function dressed(element: HTMLElement): HTMLElement {
  element.setAttribute = (name, value) => {
    if (name === 'style') element.style.cssText = value
    else Element.prototype.setAttribute.call(element, name, value)
  }
  return element
}
