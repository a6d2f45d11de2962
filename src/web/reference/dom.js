// Making elements. Text is always text: nothing in a document is ever read as HTML.

/**
 * @param {string} tag
 * @param {Record<string, string | boolean | null>} attributes true is an empty attribute; false and null are left out
 * @param {...(Node | string | null)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? '' : value)
  }
  made.append(...children.filter((child) => child !== null))
  return made
}

/**
 * A part that opens, and whose content is made when it is first opened: schemas may refer to each other without end.
 * @param {(Node | string)[]} summary
 * @param {() => Node} content
 * @param {string} kind
 */
export function unfolding(summary, content, kind = 'unfolding') {
  const made = element('details', { class: kind }, element('summary', {}, ...summary))
  made.addEventListener('toggle', () => made.append(content()), { once: true })
  return made
}

/** How far something of the contract is built, and who may use it, as small labels.
 * @param {string} word
 * @param {string} title
 */
export function badge(word, title) {
  return element('span', { class: `badge badge-${word.replaceAll(/\W+/g, '-')}`, title }, word)
}

/** @type {Record<string, string>} */
export const MARKERS = {
  implemented: 'This server serves it.',
  partial: 'Some of its variants are not served yet.',
  planned: 'Declared, and not served yet.',
  preview: 'Served because a setting of this server switches it on; it may still change.',
}
