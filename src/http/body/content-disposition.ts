// Content-Disposition (RFC 6266) of user content: a browser only saves content that it would run, and names are encoded safely.
import { essenceOf } from '../../assets/content-type.ts'

/** HTML, XML and SVG in all variants, scripts, and containers of these. */
const ACTIVE_CONTENT = /html|xml|svg|xsl|script|wasm|multipart\/|message\/|shockwave|java|hta$|svc$/

/** The Content-Disposition of content with this type and name. */
export function formatDisposition(content_type: string, name: string): string {
  return `${ACTIVE_CONTENT.test(essenceOf(content_type)) ? 'attachment' : 'inline'}${formatFilename(name)}`
}

/** The Content-Disposition of content that is always saved. */
export function formatAttachment(name: string): string {
  return `attachment${formatFilename(name)}`
}

/** Characters that separate paths, end a line, or change the direction of text. */
const UNSAFE_CHARACTERS = /[\p{Cc}/\\\u2028-\u202e\u2066-\u2069]/gu

function formatFilename(name: string): string {
  const clean = name.toWellFormed().replace(UNSAFE_CHARACTERS, '_')
  const plain = clean.replace(/[^ -~]|["%]/gu, '_')
  const extended = plain === clean ? '' : `; filename*=UTF-8''${encodeExtendedValue(clean)}`
  return `; filename="${plain}"${extended}`
}

/** Percent-encodes as RFC 8187 requires: `encodeURIComponent` leaves these four characters unchanged. */
function encodeExtendedValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
