// The part of Markdown that descriptions in the contract use: paragraphs, lists, tables, bold, code and links.
import { element } from './dom.js'

/** @param {string | undefined} text */
export function markdown(text) {
  const blocks = (text ?? '').split(/\n\s*\n/).filter((block) => block.trim() !== '')
  return element('div', { class: 'prose' }, ...blocks.flatMap(block))
}

/** @param {string} text */
function block(text) {
  const lines = text.split('\n').map((line) => line.trim())
  if (lines.every((line) => line.startsWith('|'))) return [table(lines)]
  if (lines.every((line) => /^[-*] /.test(line))) {
    return [element('ul', {}, ...lines.map((line) => element('li', {}, ...inline(line.slice(2)))))]
  }
  // YAML's folded text joins paragraphs with a single line break: one that ends a sentence is a paragraph's end.
  return text.split(/(?<=[.:])\n/).map((paragraph) => element('p', {}, ...inline(paragraph)))
}

/** @param {string[]} lines */
function table([head = '', _rule, ...rows]) {
  const cells = (/** @type {string} */ line) => line.split('|').slice(1, -1)
  const row = (/** @type {string} */ line, /** @type {string} */ tag) =>
    element('tr', {}, ...cells(line).map((cell) => element(tag, {}, ...inline(cell.trim()))))
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      {},
      element('thead', {}, row(head, 'th')),
      element('tbody', {}, ...rows.map((line) => row(line, 'td'))),
    ),
  )
}

const TOKEN = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((https?:[^)\s]+|[#/][^)\s]*)\)/g

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function inline(text) {
  const parts = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    const [whole, code, bold, label, href] = match
    parts.push(text.slice(end, match.index))
    if (code !== undefined) parts.push(element('code', {}, code))
    else if (bold !== undefined) parts.push(element('strong', {}, bold))
    else parts.push(element('a', { href: href ?? '#', rel: 'noreferrer' }, label ?? ''))
    end = match.index + whole.length
  }
  return [...parts, text.slice(end)]
}
