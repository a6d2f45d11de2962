// The type that a part of a form claims, with what the parser drops of it: the charset.
import { MIMEType } from 'node:util'

/** Names of charsets (RFC 2978, section 2.3), without those signs that would have to be quoted. */
const CHARSET = /^[\w.:+-]{1,40}$/

/** The charset, in lower case, that the first part says besides its type; null where it says none. `bytes` are a form's up to the end of that head. */
export function parsePartCharset(bytes: Uint8Array, form_type: string, part_type: string): string | null {
  const boundary = parseBoundary(form_type)
  const head = boundary ? findFirstHead(Buffer.from(bytes).toString('latin1'), boundary) : null
  const type = parseMediaType(/^content-type:(.*)$/im.exec(head ?? '')?.[1] ?? '')
  const charset = type?.essence === part_type ? type.params.get('charset') : null
  return charset && CHARSET.test(charset) ? charset.toLowerCase() : null
}

/** What a part claims to be, or null where that is what one has that says nothing: text in UTF-8. */
export function formatClaimedType(type: string, charset: string | null): string | null {
  if (type === 'text/plain' && (charset ?? 'utf-8') === 'utf-8') return null
  return charset === null ? type : `${type}; charset=${charset}`
}

function findFirstHead(text: string, boundary: string): string | null {
  const delimiter = `\r\n--${boundary}`
  // The first one may stand at the beginning.
  const form = `\r\n${text}`
  const at = form.indexOf(`${delimiter}\r\n`)
  return at < 0 ? null : parsePartHead(form.slice(at + delimiter.length))
}

/** The lines of a part's head, each in one piece, of what follows the boundary before it; null for what is no part, or whose head has not come whole. */
export function parsePartHead(text: string): string | null {
  const end = text.startsWith('\r\n') ? text.indexOf('\r\n\r\n') : -1
  const lines = text.slice(0, end).replace(/\r\n[ \t]+/g, ' ')
  return end < 0 ? null : lines.replaceAll('\r', '')
}

/** What stands between the parts of a form of this type; null where it does not say. */
export function parseBoundary(form_type: string): string | null {
  return parseMediaType(form_type)?.params.get('boundary') ?? null
}

/** A type with its second half, up to its parameters. */
const MEDIA_TYPE_START = /^[ \t]*[^\s;/]+\/[^\s;/]+[ \t]*(?:;|$)/

/** What does not begin like a type is not shown to Node: sixteen thousand spaces in the middle of one would take it half a second. */
function parseMediaType(text: string): MIMEType | null {
  if (!MEDIA_TYPE_START.test(text)) return null
  try {
    return new MIMEType(text)
  } catch {
    return null
  }
}
