// The little XML that object storage speaks: elements without attributes that matter, whose texts are wanted by their names.

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** What stands between the tags of each element of that name, in order; elements inside it as they are. */
export function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, 'g'))].map(([, inner]) => inner!)
}

/** The text of the first element of that name, or null. */
export function textOf(xml: string, name: string): string | null {
  const [inner] = elements(xml, name)
  return inner === undefined ? null : unescaped(inner)
}

function unescaped(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/gi, (_whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[(name as string).toLowerCase()]!
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex as string, 16))
  })
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
