// The type that a part of a form claims, with what the parser drops of it: the charset.
import { MIMEType } from 'node:util'

/** Names of charsets (RFC 2978, section 2.3), without those signs that would have to be quoted. */
const CHARSET = /^[\w.:+-]{1,40}$/

/** The charset, in lower case, that the first part says besides its type; null where it says none. `bytes` are a form's up to the end of that head. */
export function charsetOfPart(bytes: Uint8Array, form_type: string, part_type: string): string | null {
  const boundary = typeOf(form_type)?.params.get('boundary')
  const head = boundary ? headIn(Buffer.from(bytes).toString('latin1'), boundary) : null
  const said = typeOf(/^content-type:(.*)$/im.exec(head ?? '')?.[1] ?? '')
  const charset = said?.essence === part_type ? said.params.get('charset') : null
  return charset && CHARSET.test(charset) ? charset.toLowerCase() : null
}

/** Where the part of a form that has this name begins, with its boundary; the end of `bytes` where it is not found. */
export function partAt(bytes: Uint8Array, form_type: string, name: string): number {
  const boundary = typeOf(form_type)?.params.get('boundary')
  if (!boundary) return bytes.length
  const text = `\r\n${Buffer.from(bytes).toString('latin1')}`
  const delimiter = `\r\n--${boundary}\r\n`
  const named = new RegExp(`^content-disposition:.*;\\s*name="?${name}"?\\s*(?:;|$)`, 'im')
  for (let at = text.indexOf(delimiter); at >= 0; at = text.indexOf(delimiter, at + 1)) {
    const head = headIn(text.slice(at + 2), boundary)
    // The line break before the first boundary is one that was put there.
    if (head !== null && named.test(head)) return at
  }
  return bytes.length
}

/** What a part claims to be, or null where that is what one has that says nothing: text in UTF-8. */
export function claimOf(type: string, charset: string | null): string | null {
  if (type === 'text/plain' && (charset ?? 'utf-8') === 'utf-8') return null
  return charset === null ? type : `${type}; charset=${charset}`
}

/** Its lines, each in one piece. */
function headIn(text: string, boundary: string): string | null {
  const delimiter = `\r\n--${boundary}\r\n`
  // The first one may stand at the beginning.
  const form = `\r\n${text}`
  const at = form.indexOf(delimiter)
  if (at < 0) return null
  const start = at + delimiter.length - 2
  const end = form.indexOf('\r\n\r\n', start)
  return end < 0
    ? null
    : form
        .slice(start, end)
        .replace(/\r\n[ \t]+/g, ' ')
        .replaceAll('\r', '')
}

function typeOf(text: string): MIMEType | null {
  try {
    return new MIMEType(text)
  } catch {
    return null
  }
}
