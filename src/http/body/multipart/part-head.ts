// Parses the head of a part of a form (RFC 7578): its name, its filename and its claimed type.

export interface PartHead {
  /** Whether the part is labelled as form data. */
  readonly is_form_data: boolean
  /** Null if it has none. */
  readonly name: string | null
  /** The last segment of the filename; null if the part has none. */
  readonly filename: string | null
  /** In lower case, without parameters. */
  readonly type: string
  /** In lower case; null if the type has none. */
  readonly charset: string | null
  /** The Content-Transfer-Encoding in lower case. */
  readonly encoding: string
}

const HEADER = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e\x80-\xff]*)$/
/** A parameter of a header, with a quoted value or a bare one. */
const PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))[ \t]*/gy
const MEDIA_TYPE = /^[^/]+\/[^/]+$/
/** Names of charsets (RFC 2978, section 2.3), without characters that need quotes. */
const CHARSET = /^[\w.:+-]{1,40}$/

/** Parses the header lines of a part, each byte a character. Null if they are malformed. */
export function parsePartHead(text: string): PartHead | null {
  const headers = new Map<string, string>()
  for (const line of text === '' ? [] : text.replace(/\r\n(?=[ \t])/g, '').split('\r\n')) {
    const [, name, value] = HEADER.exec(line) ?? []
    if (name === undefined || value === undefined) return null
    if (!headers.has(name.toLowerCase())) headers.set(name.toLowerCase(), value.replace(/^[ \t]+/, ''))
  }
  const { label, parameters } = parseParameters(headers.get('content-disposition') ?? '')
  // Browsers send an empty filename for a file that was not chosen.
  const filename = decodeExtended(parameters.get('filename*') ?? '') || parameters.get('filename') || null
  const type = parseParameters(headers.get('content-type') ?? '')
  const isType = MEDIA_TYPE.test(type.label)
  const charset = (isType && type.parameters.get('charset')) || ''
  return {
    is_form_data: label === 'form-data',
    name: decodeUtf8(parameters.get('name') ?? '') || null,
    filename: filename === null ? null : lastSegment(decodeUtf8(filename)),
    type: isType ? type.label : 'text/plain',
    charset: CHARSET.test(charset) ? charset.toLowerCase() : null,
    encoding: headers.get('content-transfer-encoding')?.toLowerCase() ?? '7bit',
  }
}

/** The claimed type of a part. Null for UTF-8 text, which is the default of a part without a type. */
export function formatClaimedType(type: string, charset: string | null): string | null {
  if (type === 'text/plain' && (charset ?? 'utf-8') === 'utf-8') return null
  return charset === null ? type : `${type}; charset=${charset}`
}

/** The boundary of a form of this type. Null if the type has none. */
export function parseBoundary(form_type: string): string | null {
  return parseParameters(form_type).parameters.get('boundary') || null
}

/** Parses a header such as `form-data; name="file"`, in linear time. The first parameter of each name counts. A malformed header is empty. */
function parseParameters(value: string): { label: string; parameters: ReadonlyMap<string, string> } {
  const parameters = new Map<string, string>()
  const [start, label = ''] = /^[ \t]*([\w!#$%&'*+.^`|~/-]+)[ \t]*/.exec(value) ?? ['']
  PARAMETER.lastIndex = start.length
  let end = start.length
  for (const [all, name = '', quoted, bare = ''] of value.matchAll(PARAMETER)) {
    end += all.length
    // Browsers do not escape backslashes.
    const text = quoted?.replace(/\\(["\\])/g, '$1') ?? bare
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), text)
  }
  return end === value.length ? { label: label.toLowerCase(), parameters } : { label: '', parameters: new Map() }
}

/** Decodes `UTF-8''caf%C3%A9` (RFC 8187) to bytes of UTF-8. Undefined for any other text. */
function decodeExtended(value: string): string | undefined {
  const [, text] = /^utf-8'[^']*'((?:[^%]|%[\da-f]{2})*)$/i.exec(value) ?? []
  return text?.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function decodeUtf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}

function lastSegment(path: string): string {
  const segment = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  return segment === '.' || segment === '..' ? '' : segment
}
