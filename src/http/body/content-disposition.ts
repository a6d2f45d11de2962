// How content of users is shown: what a browser would run is only ever saved, and its name is spelled safely (RFC 6266).
import { essenceOf } from '../../assets/content-type.ts'

/** HTML, XML and SVG in all their kinds, scripts, and what holds any of them. */
const ACTIVE_CONTENT = /html|xml|svg|xsl|script|wasm|multipart\/|message\/|shockwave|java|hta$|svc$/

/** The Content-Disposition of content with this type and name. */
export function formatDisposition(content_type: string, name: string): string {
  return `${ACTIVE_CONTENT.test(essenceOf(content_type)) ? 'attachment' : 'inline'}${formatFilename(name)}`
}

/** The Content-Disposition of content that is saved under a name, whatever it is. */
export function formatAttachment(name: string): string {
  return `attachment${formatFilename(name)}`
}

/** What is no part of a name, ends a line, or turns the text around it. */
const UNSAFE_CHARACTERS = /[\p{Cc}/\\\u2028-\u202e\u2066-\u2069]/gu

function formatFilename(name: string): string {
  const clean = name.toWellFormed().replace(UNSAFE_CHARACTERS, '_')
  const plain = clean.replace(/[^ -~]|["%]/gu, '_')
  const extended = plain === clean ? '' : `; filename*=UTF-8''${encodeExtendedValue(clean)}`
  return `; filename="${plain}"${extended}`
}

/** Percent-encoded as RFC 8187 wants it: these four stand for themselves in URLs alone. */
function encodeExtendedValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
