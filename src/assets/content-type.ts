// Detects the content type of bytes by their first bytes, or else by the claimed type.

const OCTET_STREAM = 'application/octet-stream'
const PLAIN_TEXT = 'text/plain; charset=utf-8'
const ZIP = 'application/zip'

/** Bytes that identify a type: characters of Latin-1, `?` for any byte. If the claimed type matches `or`, the bytes are a container of it. */
interface Signature {
  readonly at: number
  readonly bytes: string
  readonly type: string
  readonly or?: RegExp
  /** Every file of this type has this signature, so a claim without the signature is wrong. */
  readonly always?: true
}

const OF_MP4 = /^(?:audio|video)\/(?:mp4|x-m4[av]|3gpp2?|quicktime)$/
const OF_OGG = /^(?:audio|video|application)\/(?:ogg|opus|vorbis)$/
const OF_ZIP = /^application\/(?:vnd\.|epub|java-archive|x-)|^model\//

// The signatures come from the specifications of the formats. The more specific ones come first.
const SIGNATURES: readonly Signature[] = [
  { at: 0, bytes: '\x89PNG\r\n\x1a\n', type: 'image/png', always: true },
  { at: 0, bytes: '\xff\xd8\xff', type: 'image/jpeg', always: true },
  { at: 0, bytes: 'GIF8?a', type: 'image/gif', always: true },
  { at: 0, bytes: 'RIFF????WEBP', type: 'image/webp', always: true },
  { at: 0, bytes: 'RIFF????WAVE', type: 'audio/wav' },
  { at: 0, bytes: 'RIFF????AVI ', type: 'video/x-msvideo' },
  { at: 0, bytes: 'II*\0', type: 'image/tiff' },
  { at: 0, bytes: 'MM\0*', type: 'image/tiff' },
  { at: 0, bytes: '%PDF-', type: 'application/pdf' },
  { at: 4, bytes: 'ftypavif', type: 'image/avif' },
  { at: 4, bytes: 'ftyphei', type: 'image/heic' },
  { at: 4, bytes: 'ftypM4A', type: 'audio/mp4' },
  { at: 4, bytes: 'ftypqt', type: 'video/quicktime' },
  { at: 4, bytes: 'ftyp', type: 'video/mp4', or: OF_MP4 },
  { at: 0, bytes: '\x1aE\xdf\xa3', type: 'video/webm', or: /^(?:audio\/webm|(?:audio|video)\/(?:x-)?matroska)$/ },
  { at: 0, bytes: 'OggS', type: 'audio/ogg', or: OF_OGG },
  { at: 0, bytes: 'fLaC', type: 'audio/flac' },
  { at: 0, bytes: 'ID3', type: 'audio/mpeg' },
  { at: 0, bytes: '\xff\xfb', type: 'audio/mpeg' },
  { at: 0, bytes: 'PK\x03\x04', type: ZIP, or: OF_ZIP },
  { at: 0, bytes: '\x1f\x8b\x08', type: 'application/gzip' },
  { at: 0, bytes: 'PAR1', type: 'application/vnd.apache.parquet' },
  { at: 0, bytes: 'SQLite format 3\0', type: 'application/vnd.sqlite3' },
  { at: 0, bytes: 'glTF', type: 'model/gltf-binary' },
  { at: 0, bytes: 'GGUF', type: 'model/vnd.gguf' },
]

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/tiff': 'tiff',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/svg+xml': 'svg',
  'audio/wav': 'wav',
  'audio/mp4': 'm4a',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/mpeg': 'mp3',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'video/x-msvideo': 'avi',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/gzip': 'gz',
  'application/json': 'json',
  'application/vnd.apache.parquet': 'parquet',
  'application/vnd.sqlite3': 'sqlite',
  'model/gltf-binary': 'glb',
  'model/vnd.gguf': 'gguf',
  'text/plain': 'txt',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
}

/** Content types of texts by file extension, used if no type is claimed, because their bytes do not tell. */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  tsv: 'text/tab-separated-values; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
  xml: 'application/xml',
}

const OFFICE = 'application/vnd.openxmlformats-officedocument'

/** The same for archives. */
const ARCHIVE_TYPES: Readonly<Record<string, string>> = {
  docx: `${OFFICE}.wordprocessingml.document`,
  xlsx: `${OFFICE}.spreadsheetml.sheet`,
  pptx: `${OFFICE}.presentationml.presentation`,
  epub: 'application/epub+zip',
}

/** The kind of a content type; `file` if it is none of the others. */
export type MediaKind = 'image' | 'audio' | 'video' | 'document' | 'dataframe' | 'model' | 'file'

const KIND_PATTERNS: readonly (readonly [RegExp, MediaKind])[] = [
  [/^image\//, 'image'],
  [/^audio\//, 'audio'],
  [/^video\//, 'video'],
  [/^model\//, 'model'],
  [/^(?:text\/csv|text\/tab-separated-values|application\/vnd\.apache\.(?:parquet|arrow\.\w+))$/, 'dataframe'],
  [
    /^(?:text\/(?:plain|html|markdown|rtf)|application\/(?:pdf|rtf|msword|epub\+zip|vnd\.(?:ms-|openxml|oasis).*))$/,
    'document',
  ],
]

const CONTENT_TYPE_PATTERN =
  /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?: *; *[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|"[\w !#$&^.+/=-]*"))*$/

/**
 * Returns the content type of `bytes`: all bytes of a file, or more than SNIFFED_BYTES. A signature in the bytes decides. Without one,
 * `claimed` decides; and if no type is claimed, the extension of `name` decides for texts and archives.
 */
export function detectContentType(bytes: Uint8Array, claimed: string | null, name: string | null = null): string {
  const claim = claimed !== null && claimed.length <= 255 && CONTENT_TYPE_PATTERN.test(claimed) ? claimed : null
  const none = claim === null || essenceOf(claim) === OCTET_STREAM
  const found = SIGNATURES.find((signature) => matchesSignature(bytes, signature))
  if (found?.type === ZIP && none) return typeByExtension(ARCHIVE_TYPES, name) ?? ZIP
  if (found) return claim !== null && found.or?.test(essenceOf(claim)) ? claim : found.type
  const wrong = !none && SIGNATURES.some(({ type, always }) => always && type === essenceOf(claim))
  if (!none && !wrong) return claim
  if (!isText(bytes)) return OCTET_STREAM
  return (wrong ? null : typeByExtension(TEXT_TYPES, name)) ?? PLAIN_TEXT
}

function typeByExtension(types: Readonly<Record<string, string>>, name: string | null): string | null {
  const end = name === null ? '' : name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return Object.hasOwn(types, end) ? types[end]! : null
}

/** Returns a content type without parameters, in lower case. */
export function essenceOf(content_type: string): string {
  return content_type.split(';', 1)[0]!.trim().toLowerCase()
}

export function mediaKindOf(content_type: string): MediaKind {
  const essence = essenceOf(content_type)
  return KIND_PATTERNS.find(([pattern]) => pattern.test(essence))?.[1] ?? 'file'
}

/** Returns the file extension for a content type. If the type has none, it is that of `name`, or else `bin`. */
export function fileExtensionFor(content_type: string, name: string | null): string {
  const own = EXTENSIONS[essenceOf(content_type)]
  return own ?? /\.([A-Za-z0-9]{1,10})$/.exec(name ?? '')?.[1]?.toLowerCase() ?? 'bin'
}

function matchesSignature(bytes: Uint8Array, { at, bytes: signature }: Signature): boolean {
  for (let i = 0; i < signature.length; i += 1)
    if (signature[i] !== '?' && bytes[at + i] !== signature.charCodeAt(i)) return false
  return true
}

/** Number of leading bytes that the detection uses. */
export const SNIFFED_BYTES = 4_096

/** Whether the first bytes are UTF-8 without control characters except white space. An empty file is no text. */
function isText(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return false
  try {
    // If the file is longer, the last character may be cut.
    const stream = bytes.length > SNIFFED_BYTES
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, SNIFFED_BYTES), { stream })
    return !/[^\P{Cc}\t\n\r\f]/u.test(text)
  } catch {
    return false
  }
}
