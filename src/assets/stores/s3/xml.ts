// Parses the simple XML of object storages: it finds elements by name and ignores attributes.

/**
 * Characters of a text that are read. No text that is needed is longer: the name of an object has at most 1,024 bytes, each of which may be
 * an entity.
 */
const LONGEST_TEXT = 8_192

const LAST_CHARACTER = 0x10ffff
/** Replaces a character reference that names no character. */
const NO_CHARACTER = '\ufffd'
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/**
 * Yields the content between the tags of each element of that name, in order, with inner elements unparsed. It looks for no closing tag
 * twice, because a storage may answer with anything.
 */
export function* findElements(xml: string, name: string): Generator<string, void, undefined> {
  const [opening, closing] = [`<${name}`, `</${name}>`]
  for (let at = xml.indexOf(opening); at >= 0; at = xml.indexOf(opening, at)) {
    at += opening.length
    // The name of another element may begin with this name.
    if (!/[\s>]/.test(xml.charAt(at))) continue
    const begin = xml.indexOf('>', at) + 1
    const end = begin === 0 ? -1 : xml.indexOf(closing, begin)
    if (end < 0) return
    yield xml.slice(begin, end)
    at = end + closing.length
  }
}

/** Returns the text of the first element of that name, or null. A text that is longer than any needed one is cut. */
export function elementText(xml: string, name: string): string | null {
  const first = findElements(xml, name).next()
  return first.done ? null : unescapeXml(first.value.slice(0, LONGEST_TEXT))
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (_whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[(name as string).toLowerCase()]!
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex as string, 16)
    return code > LAST_CHARACTER ? NO_CHARACTER : String.fromCodePoint(code)
  })
}
