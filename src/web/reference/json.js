// Values as indented JSON with coloured keys and strings.
import { element } from './dom.js'

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?/g

/** @param {unknown} value */
export function json(value) {
  const text = JSON.stringify(value, null, 2)
  const parts = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string = '', colon] = match
    parts.push(text.slice(end, match.index))
    parts.push(element('span', { class: colon ? 'json-key' : 'json-string' }, string), colon ?? '')
    end = match.index + whole.length
  }
  // Focusable, because a box that scrolls must be reachable by keyboard.
  return element('pre', { class: 'json', tabindex: '0' }, element('code', {}, ...parts, text.slice(end)))
}
