// Reads images, audio and documents from messages. Their bytes are inline: the caller has fetched them before.
import type { AudioPart, FilePart, ImagePart } from '../../../../generated/types.ts'
import type { ProviderError } from '../../provider-error.ts'
import { createUnsupportedError } from './unsupported-error.ts'

export interface InlineMedia {
  readonly type: 'media'
  /** In lower case, without parameters. */
  readonly media_type: string
  /** Base64 (RFC 4648, section 4). */
  readonly data: string
  /** The file name of a document; null where there is none. */
  readonly name: string | null
  /** The position in the request, for errors. */
  readonly place: string
}

/** RFC 2397. */
const DATA_URL = /^data:([^,;]*)((?:;[^,;]*)*),/i

/** The vendor decides in which detail it reads an image. */
const DEFAULT_DETAILS = new Set(['auto', null, undefined])

/** @throws ProviderError `unsupported` with the position of the part */
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
    throw createUnsupportedError(provider, `${place}.image_url.detail`, 'takes no image detail but "auto"')
  const wrong = () => createUnsupportedError(provider, `${place}.image_url.url`, 'takes images only as data: URLs')
  return parseDataUrl(url, null, place, wrong)
}

function parseFile({ file: { file_data, file_id, filename } }: FilePart, place: string, provider: string): InlineMedia {
  if (file_id != null) throw createUnsupportedError(provider, `${place}.file.file_id`, 'takes no files by id')
  const wrong = () => createUnsupportedError(provider, `${place}.file.file_data`, 'takes files only as data: URLs')
  return parseDataUrl(file_data ?? '', filename ?? null, place, wrong)
}

/** `wrong` is a function because making an error takes time. */
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
