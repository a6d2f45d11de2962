// Reads Link headers: RFC 8288 §3 and its appendix B.2.

interface Cursor {
  readonly text: string
  at: number
}

function skipCharacters(cursor: Cursor, characters: string): void {
  while (cursor.at < cursor.text.length && characters.includes(cursor.text[cursor.at]!)) cursor.at++
}

/** The text before the first of the characters, which stays unread. */
function readUntil(cursor: Cursor, characters: string): string {
  const start = cursor.at
  while (cursor.at < cursor.text.length && !characters.includes(cursor.text[cursor.at]!)) cursor.at++
  return cursor.text.slice(start, cursor.at)
}

function readQuoted(cursor: Cursor): string {
  let text = ''
  for (cursor.at++; cursor.at < cursor.text.length && cursor.text[cursor.at] !== '"'; cursor.at++) {
    if (cursor.text[cursor.at] === '\\') cursor.at++
    text += cursor.text[cursor.at] ?? ''
  }
  cursor.at++
  return text
}

/** The parameters of one link by name in lower case. The first of equal names counts. */
function readParameters(cursor: Cursor): Map<string, string> {
  const found = new Map<string, string>()
  for (skipCharacters(cursor, ' \t'); cursor.text[cursor.at] === ';'; skipCharacters(cursor, ' \t')) {
    cursor.at++
    skipCharacters(cursor, ' \t')
    const name = readUntil(cursor, '=;, \t').toLowerCase()
    skipCharacters(cursor, ' \t')
    let value = ''
    if (cursor.text[cursor.at] === '=') {
      cursor.at++
      skipCharacters(cursor, ' \t')
      value = cursor.text[cursor.at] === '"' ? readQuoted(cursor) : readUntil(cursor, ';, \t')
    }
    if (!found.has(name)) found.set(name, value)
  }
  return found
}

/**
 * The target of the first link with a relation, such as `next`, or null. Links with an anchor, which describe another resource, are
 * skipped.
 */
export function findLink(header: string, relation: string): string | null {
  const cursor: Cursor = { text: header, at: 0 }
  for (skipCharacters(cursor, ' \t,'); cursor.at < header.length; skipCharacters(cursor, ' \t,')) {
    if (header[cursor.at] !== '<') {
      readUntil(cursor, ',')
      continue
    }
    cursor.at++
    const target = readUntil(cursor, '>')
    cursor.at++
    const found = readParameters(cursor)
    const relations = (found.get('rel') ?? '').toLowerCase().split(' ')
    if (relations.includes(relation) && !found.has('anchor')) return target
    readUntil(cursor, ',')
  }
  return null
}
