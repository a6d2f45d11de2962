// The type that a part of a form claims, with what the parser drops of it: the charset.
import { MIMEType } from 'node:util'

/** Names of charsets (RFC 2978, section 2.3), without those signs that would have to be quoted. */
const CHARSET = /^[\w.:+-]{1,40}$/

/** The charset, in lower case, that the first part says besides its type; null where it says none. `bytes` are a form's up to the end of that head. */
export function charsetOfPart(bytes: Uint8Array, form_type: string, part_type: string): string | null {
  const boundary = boundaryOf(form_type)
  const head = boundary ? firstHead(Buffer.from(bytes).toString('latin1'), boundary) : null
  const said = typeOf(/^content-type:(.*)$/im.exec(head ?? '')?.[1] ?? '')
  const charset = said?.essence === part_type ? said.params.get('charset') : null
  return charset && CHARSET.test(charset) ? charset.toLowerCase() : null
}

/** What a part claims to be, or null where that is what one has that says nothing: text in UTF-8. */
export function claimOf(type: string, charset: string | null): string | null {
  if (type === 'text/plain' && (charset ?? 'utf-8') === 'utf-8') return null
  return charset === null ? type : `${type}; charset=${charset}`
}

function firstHead(text: string, boundary: string): string | null {
  const delimiter = `\r\n--${boundary}`
  // The first one may stand at the beginning.
  const form = `\r\n${text}`
  const at = form.indexOf(`${delimiter}\r\n`)
  return at < 0 ? null : headOf(form.slice(at + delimiter.length))
}

/** The lines of a part's head, each in one piece, of what follows the boundary before it; null for what is no part, or whose head has not come whole. */
export function headOf(text: string): string | null {
  const end = text.startsWith('\r\n') ? text.indexOf('\r\n\r\n') : -1
  const lines = text.slice(0, end).replace(/\r\n[ \t]+/g, ' ')
  return end < 0 ? null : lines.replaceAll('\r', '')
}

/** What stands between the parts of a form of this type; null where it does not say. */
export function boundaryOf(form_type: string): string | null {
  return typeOf(form_type)?.params.get('boundary') ?? null
}

/** A type with its second half, up to its parameters. */
const BEGINNING = /^[ \t]*[^\s;/]+\/[^\s;/]+[ \t]*(?:;|$)/

/** What does not begin like a type is not shown to Node: sixteen thousand spaces in the middle of one would take it half a second. */
function typeOf(text: string): MIMEType | null {
  if (!BEGINNING.test(text)) return null
  try {
    return new MIMEType(text)
  } catch {
    return null
  }
}
