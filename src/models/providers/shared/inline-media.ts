// Pictures, sounds and documents in messages: their bytes and what they are. They come inline; whoever asks has fetched them before.
import type { AudioPart, FilePart, ImagePart } from '../../../../generated/types.ts'
import type { ProviderError } from '../../provider-error.ts'
import { createUnsupportedError } from './unsupported-error.ts'

export interface InlineMedia {
  readonly type: 'media'
  /** In lower case, without parameters. */
  readonly media_type: string
  /** Base64 (RFC 4648, section 4). */
  readonly data: string
  /** Of a document; null where it has none. */
  readonly name: string | null
  /** Where in the request it stands. */
  readonly place: string
}

/** RFC 2397. */
const DATA_URL = /^data:([^,;]*)((?:;[^,;]*)*),/i

/** How closely a picture is looked at is the vendor's business. */
const DEFAULT_DETAILS = new Set(['auto', null, undefined])

/** @throws ProviderError `unsupported` with its place */
export function parseInlineMedia(
  part: ImagePart | AudioPart | FilePart | { type: string },
  place: string,
  provider: string,
): InlineMedia {
  if (isImage(part)) return parseImage(part, place, provider)
  if (isAudio(part)) {
    const { data, format } = part.input_audio
    return { type: 'media', media_type: `audio/${format.toLowerCase()}`, data, name: null, place }
  }
  if (isFile(part)) return parseFile(part, place, provider)
  throw createUnsupportedError(provider, place, `does not read parts of the type "${part.type}"`)
}

function parseImage({ image_url: { url, detail } }: ImagePart, place: string, provider: string): InlineMedia {
  if (!DEFAULT_DETAILS.has(detail))
    throw createUnsupportedError(provider, `${place}.image_url.detail`, 'looks at pictures as it likes')
  const wrong = () => createUnsupportedError(provider, `${place}.image_url.url`, 'takes pictures as data: URLs alone')
  return parseDataUrl(url, null, place, wrong)
}

function parseFile({ file: { file_data, file_id, filename } }: FilePart, place: string, provider: string): InlineMedia {
  if (file_id != null) throw createUnsupportedError(provider, `${place}.file.file_id`, 'knows no files by their ids')
  const wrong = () => createUnsupportedError(provider, `${place}.file.file_data`, 'takes files as data: URLs alone')
  return parseDataUrl(file_data ?? '', filename ?? null, place, wrong)
}

/** `wrong` makes an error, which takes time. */
function parseDataUrl(url: string, name: string | null, place: string, wrong: () => ProviderError): InlineMedia {
  const head = DATA_URL.exec(url)
  if (!head) throw wrong()
  const [{ length }, media_type, parameters] = head as unknown as [string, string, string]
  const rest = url.slice(length)
  const data = /;base64$/i.test(parameters) ? rest : decodePercent(rest, wrong).toString('base64')
  return { type: 'media', media_type: media_type.toLowerCase() || 'text/plain', data, name, place }
}

function decodePercent(text: string, wrong: () => ProviderError): Buffer {
  try {
    return Buffer.from(decodeURIComponent(text))
  } catch {
    throw wrong()
  }
}

function isImage(part: { type: string }): part is ImagePart {
  return part.type === 'image_url'
}

function isAudio(part: { type: string }): part is AudioPart {
  return part.type === 'input_audio'
}

function isFile(part: { type: string }): part is FilePart {
  return part.type === 'file'
}
