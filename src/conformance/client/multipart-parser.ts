// A strict parser of multipart bodies for uploads.

export interface FormPart {
  readonly name: string | null
  readonly filename: string | null
  readonly content_type: string | null
  readonly bytes: Buffer
}

/** Returns the parts, or the error of the body. */
export function parseFormParts(content_type: string, body: Buffer): readonly FormPart[] | string {
  const boundary = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(content_type)
  if (!boundary) return 'the content type is not multipart/form-data with a boundary'
  const delimiter = Buffer.from(`\r\n--${boundary[1] ?? boundary[2]}`)
  const whole = Buffer.concat([Buffer.from('\r\n'), body])
  const parts: FormPart[] = []
  let at = whole.indexOf(delimiter)
  if (at !== 0) return 'the body does not begin with its boundary'
  while (
    !whole
      .subarray(at + delimiter.length)
      .toString('latin1', 0, 2)
      .startsWith('--')
  ) {
    const next = whole.indexOf(delimiter, at + delimiter.length)
    if (next < 0) return 'the body ends without its last boundary'
    parts.push(parseFormPart(whole.subarray(at + delimiter.length + 2, next)))
    at = next
  }
  return parts
}

function parseFormPart(bytes: Buffer): FormPart {
  const end = bytes.indexOf('\r\n\r\n')
  const head = bytes.toString('utf8', 0, end)
  const disposition = /^content-disposition: *(.*)$/im.exec(head)?.[1] ?? ''
  return {
    name: readParameter(disposition, 'name'),
    filename: readParameter(disposition, 'filename'),
    content_type: /^content-type: *(.*)$/im.exec(head)?.[1]?.trim() ?? null,
    bytes: bytes.subarray(end + 4),
  }
}

/** Parses a quoted parameter. Browsers write a quotation mark as %22, other clients as \" (RFC 7578, section 2; RFC 2183). */
function readParameter(disposition: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}="((?:\\\\.|[^"\\\\])*)"(?=\\s*(?:;|$))`, 'i').exec(disposition)
  const value = found?.[1]
  return value === undefined ? null : value.replace(/\\(.)/g, '$1').replaceAll('%22', '"')
}
