// Parses the claimed type of a part of a form, with the charset that the form parser drops.
import { MIMEType } from 'node:util'

/** Names of charsets (RFC 2978, section 2.3), without characters that need quotes. */
const CHARSET = /^[\w.:+-]{1,40}$/

/** The charset of the first part, in lower case; null if its type has none. `bytes` are those of a form up to the end of that head. */
export function parsePartCharset(bytes: Uint8Array, form_type: string, part_type: string): string | null {
  const boundary = parseBoundary(form_type)
  const head = boundary ? findFirstHead(Buffer.from(bytes).toString('latin1'), boundary) : null
  const type = parseMediaType(/^content-type:(.*)$/im.exec(head ?? '')?.[1] ?? '')
  const charset = type?.essence === part_type ? type.params.get('charset') : null
  return charset && CHARSET.test(charset) ? charset.toLowerCase() : null
}

/** The claimed type of a part. Null for UTF-8 text, which is the default of a part without a type. */
export function formatClaimedType(type: string, charset: string | null): string | null {
  if (type === 'text/plain' && (charset ?? 'utf-8') === 'utf-8') return null
  return charset === null ? type : `${type}; charset=${charset}`
}

function findFirstHead(text: string, boundary: string): string | null {
  const delimiter = `\r\n--${boundary}`
  // The first delimiter may stand at the beginning.
  const form = `\r\n${text}`
  const at = form.indexOf(`${delimiter}\r\n`)
  return at < 0 ? null : parsePartHead(form.slice(at + delimiter.length))
}

/** The unfolded header lines of a part, from the text after its boundary. Null if the text is no part, or the head is incomplete. */
export function parsePartHead(text: string): string | null {
  const end = text.startsWith('\r\n') ? text.indexOf('\r\n\r\n') : -1
  const lines = text.slice(0, end).replace(/\r\n[ \t]+/g, ' ')
  return end < 0 ? null : lines.replaceAll('\r', '')
}

/** The boundary of a form of this type. Null if the type has none. */
export function parseBoundary(form_type: string): string | null {
  return parseMediaType(form_type)?.params.get('boundary') ?? null
}

/** A type and subtype, up to its parameters. */
const MEDIA_TYPE_START = /^[ \t]*[^\s;/]+\/[^\s;/]+[ \t]*(?:;|$)/

/** Other text is not given to Node's parser: sixteen thousand spaces in the middle would take it half a second. */
function parseMediaType(text: string): MIMEType | null {
  if (!MEDIA_TYPE_START.test(text)) return null
  try {
    return new MIMEType(text)
  } catch {
    return null
  }
}
