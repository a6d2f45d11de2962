// The little XML that object storage speaks: elements without attributes that matter, whose texts are wanted by their names.

/** Characters of a text that are looked at. No text that is asked for has more: the name of an object has 1,024 bytes at most, each of which may be written as an entity. */
const LONGEST_TEXT = 8_192

const LAST_CHARACTER = 0x10ffff
/** What stands for a character that there is not. */
const NO_CHARACTER = '\ufffd'
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** What stands between the tags of each element of that name, in order; elements inside it as they are. No end is looked for twice: a storage may answer with anything. */
export function* findElements(xml: string, name: string): Generator<string, void, undefined> {
  const [opening, closing] = [`<${name}`, `</${name}>`]
  for (let at = xml.indexOf(opening); at >= 0; at = xml.indexOf(opening, at)) {
    at += opening.length
    // A longer name may begin like this one.
    if (!/[\s>]/.test(xml.charAt(at))) continue
    const begin = xml.indexOf('>', at) + 1
    const end = begin === 0 ? -1 : xml.indexOf(closing, begin)
    if (end < 0) return
    yield xml.slice(begin, end)
    at = end + closing.length
  }
}

/** The text of the first element of that name, or null. Of one that is longer than any that is asked for, the beginning. */
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

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
