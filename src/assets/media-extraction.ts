// Replaces media in output values by references: bytes and long encoded content. All other values stay unchanged.
import type { AssetReference } from '../../generated/types.ts'
import { setOwnProperty } from '../shared/own-property.ts'
import type { Steps } from '../shared/time-slices.ts'
import { isSmallValue, splitIntoSmallRanges } from '../shared/value-size.ts'
import { type MediaKind, mediaKindOf } from './content-type.ts'

export type ValuePath = readonly (string | number)[]

export interface MediaExtractionOptions {
  /** Encoded content of at most this many characters stays inline. Bytes never stay inline. */
  readonly largest_inline: number
  /** Stores bytes and returns their reference. `content_type` and `name` are claims, null if there are none. */
  readonly persist: (
    bytes: Uint8Array,
    content_type: string | null,
    path: ValuePath,
    name: string | null,
  ) => AssetReference
  /**
   * Returns the asset that a value names by its id and URI; null if there is none, or it belongs to another owner. If absent, no asset is
   * looked up.
   */
  readonly known?: (asset_id: string, uri: string) => AssetReference | null
}

export interface ExtractedMedia {
  /** The keys and indexes from the value to the reference; empty for the value itself. */
  readonly path: ValuePath
  readonly asset: AssetReference
}

interface ExtractionWalk extends MediaExtractionOptions {
  readonly path: (string | number)[]
  readonly found: ExtractedMedia[]
}

/**
 * Replaces media in a value (JSON with bytes in it) by `{type, uri, asset_id, content_type, size, sha256}`. Media are bytes, base64 `data:`
 * URLs, and objects such as `{type: 'image', data}`, whose other members stay. A value without media is returned as the same object, and so
 * is each part without media. Objects that already refer to an asset stay, and are listed in `found`. The value must not be nested deeper
 * than the engine allows.
 */
export function extractMedia(
  value: unknown,
  options: MediaExtractionOptions,
): { value: unknown; found: ExtractedMedia[] } {
  const walk: ExtractionWalk = { ...options, path: [], found: [] }
  return { value: replaceMedia(value, walk), found: walk.found }
}

/** Does what `extractMedia` does, in steps. */
export function* extractMediaSteps(
  value: unknown,
  options: MediaExtractionOptions,
): Steps<{ value: unknown; found: readonly ExtractedMedia[] }> {
  const walk: ExtractionWalk = { ...options, path: [], found: [] }
  return { value: yield* replaceMediaSteps(value, walk), found: walk.found }
}

/** Walks into large values and into values that may hold files, so that each file is written in a step of its own. */
function* replaceMediaSteps(value: unknown, walk: ExtractionWalk): Steps<unknown> {
  if (!isContainer(value) || canReplaceAtOnce(value, walk)) {
    const made = replaceMedia(value, walk)
    yield
    return made
  }
  if (Array.isArray(value)) return yield* replaceMembersSteps(value, walk)
  const record = value as Record<string, unknown>
  const about = storeMediaObject(record, walk)
  if (about === null) recordKnownAsset(record, walk)
  yield
  return about === null
    ? yield* replaceMembersSteps(record, walk)
    : { ...(yield* replaceMembersSteps(omitMediaMembers(record, about), walk)), ...about }
}

/** Replaces media in the members of a container that is no media itself. */
function* replaceMembersSteps<Container extends object>(value: Container, walk: ExtractionWalk): Steps<Container> {
  const keys = Array.isArray(value) ? null : Object.keys(value)
  const members = value as Readonly<Record<string | number, unknown>>
  const keyAt = (at: number) => (keys ? keys[at]! : at)
  let copy: Record<string | number, unknown> | null = null
  for (const part of splitIntoSmallRanges(
    keys?.length ?? (value as unknown as unknown[]).length,
    (at) => members[keyAt(at)],
  )) {
    for (let index = part.from; index < part.to; index++) {
      const key = keyAt(index)
      walk.path.push(key)
      const at_once = part.isSmall && canReplaceAtOnce(members[key], walk)
      const member = at_once ? replaceMedia(members[key], walk) : yield* replaceMediaSteps(members[key], walk)
      walk.path.pop()
      if (member === members[key]) continue
      copy ??= (keys ? { ...members } : [...(value as unknown as unknown[])]) as Record<string | number, unknown>
      setOwnProperty(copy, key, member)
    }
    yield
  }
  return (copy ?? value) as Container
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array)
}

function canReplaceAtOnce(value: unknown, { largest_inline }: MediaExtractionOptions): boolean {
  return isSmallValue(value) && !mayHoldFiles(value, largest_inline)
}

/** Whether a small value has bytes in it, or texts that may be encoded content. */
function mayHoldFiles(value: unknown, largest_inline: number): boolean {
  if (typeof value === 'string') return value.length > largest_inline
  if (typeof value !== 'object' || value === null) return false
  if (value instanceof Uint8Array) return true
  for (const key in value) if (mayHoldFiles((value as Record<string, unknown>)[key], largest_inline)) return true
  return false
}

function replaceMedia(value: unknown, walk: ExtractionWalk): unknown {
  if (typeof value === 'string') return replaceInText(value, walk)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return storeBytes(value, null, null, walk)
  if (Array.isArray(value)) return replaceInList(value, walk)
  const record = value as Record<string, unknown>
  const about = storeMediaObject(record, walk)
  if (about) return { ...replaceInRecord(omitMediaMembers(record, about), walk), ...about }
  recordKnownAsset(record, walk)
  return replaceInRecord(record, walk)
}

function recordKnownAsset({ asset_id, uri }: Record<string, unknown>, { known, path, found }: ExtractionWalk): void {
  if (!known || typeof asset_id !== 'string' || typeof uri !== 'string') return
  const asset = known(asset_id, uri)
  if (asset) found.push({ path: [...path], asset })
}

function replaceInText(text: string, walk: ExtractionWalk): unknown {
  const content = decodeDataUrl(text, walk.largest_inline)
  return content === null ? text : storeBytes(content.bytes, content.content_type, null, walk)
}

function replaceInList(list: readonly unknown[], walk: ExtractionWalk): readonly unknown[] {
  let copy: unknown[] | null = null
  for (let i = 0; i < list.length; i += 1) {
    const member = replaceMember(i, list[i], walk)
    if (member === list[i]) continue
    copy ??= [...list]
    copy[i] = member
  }
  return copy ?? list
}

function replaceInRecord(record: Record<string, unknown>, walk: ExtractionWalk): Record<string, unknown> {
  let copy: Record<string, unknown> | null = null
  for (const key in record) {
    const member = replaceMember(key, record[key], walk)
    if (member === record[key]) continue
    copy ??= { ...record }
    setOwnProperty(copy, key, member)
  }
  return copy ?? record
}

/** A scalar or a short text is returned without touching the path, which is faster. */
function replaceMember(key: string | number, member: unknown, walk: ExtractionWalk): unknown {
  if (typeof member === 'string' ? member.length <= walk.largest_inline : typeof member !== 'object') return member
  walk.path.push(key)
  const value = replaceMedia(member, walk)
  walk.path.pop()
  return value
}

const MEDIA_TYPES: ReadonlySet<unknown> = new Set<MediaKind>([
  'image',
  'audio',
  'video',
  'document',
  'dataframe',
  'model',
  'file',
])
/** The members that may hold the content, and those that may name its type. */
const CONTENT_MEMBERS = ['data', 'uri'] as const
const TYPE_MEMBERS = ['content_type', 'mime_type', 'mimeType', 'contentType'] as const

/** Stores the content of a media object and returns the members that replace it and its claims; null for other objects. */
function storeMediaObject(record: Record<string, unknown>, walk: ExtractionWalk): Record<string, unknown> | null {
  const { type, name } = record
  if (!MEDIA_TYPES.has(type)) return null
  const content = decodeContent(record, walk.largest_inline)
  if (content === null) return null
  const claim = TYPE_MEMBERS.map((key) => record[key]).find((one) => typeof one === 'string') ?? content.content_type
  const about = storeBytes(content.bytes, claim as string | null, typeof name === 'string' ? name : null, walk)
  return { ...about, type: about.type === 'file' ? type : about.type }
}

/** Returns the other members of a media object, which stay at their paths. */
function omitMediaMembers(record: Record<string, unknown>, about: Record<string, unknown>): Record<string, unknown> {
  const others = { ...record }
  for (const key of [...CONTENT_MEMBERS, ...TYPE_MEMBERS, ...Object.keys(about)]) delete others[key]
  return others
}

interface DecodedContent {
  readonly bytes: Uint8Array
  readonly content_type: string | null
}

function decodeContent(record: Record<string, unknown>, largest_inline: number): DecodedContent | null {
  const { data, uri } = record
  if (data instanceof Uint8Array) return { bytes: data, content_type: null }
  for (const text of [data, uri]) {
    const content = typeof text === 'string' ? decodeDataUrl(text, largest_inline) : null
    if (content) return content
  }
  if (typeof data !== 'string' || data.length <= largest_inline) return null
  const bytes = decodeBase64(data)
  return bytes && { bytes, content_type: null }
}

/** Characters before the comma of a data URL. A text with a longer head is no real data URL. */
const LONGEST_DATA_URL_HEAD = 1_024

/** Decodes a base64 `data:` URL (RFC 2397) of more than `largest_inline` characters; null for other texts. */
function decodeDataUrl(text: string, largest_inline: number): DecodedContent | null {
  if (text.length <= largest_inline || !/^data:/i.test(text.slice(0, 5))) return null
  const comma = text.slice(0, LONGEST_DATA_URL_HEAD).indexOf(',')
  const head = comma < 0 ? null : /^([^;]*)(.*);base64$/i.exec(text.slice(5, comma))
  const bytes = head && decodeBase64(text.slice(comma + 1))
  // By the RFC, a missing type means text/plain, but writers who leave it out do not mean that.
  return bytes && { bytes, content_type: head[1] ? head[1] + head[2] : null }
}

/** Decodes padded base64 in either alphabet, with or without line breaks; null for other texts. */
function decodeBase64(text: string): Uint8Array | null {
  const length = text.length - countLineBreaks(text)
  if (length === 0 || length % 4 !== 0) return null
  const end = text
    .trimEnd()
    .slice(-LONGEST_END)
    .replace(/[\r\n]+/g, '')
  const padding = end.endsWith('==') ? 2 : end.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(text, 'base64')
  // The decoder skips invalid characters. If it skipped more than line breaks, bytes are missing.
  return bytes.length === (length / 4) * 3 - padding ? bytes : null
}

/** Characters at the end of base64 in which the padding is looked for. */
const LONGEST_END = 16

/** The line breaks are counted and not removed, because there may be one after every letter. */
function countLineBreaks(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 10 || code === 13) count++
  }
  return count
}

function storeBytes(
  bytes: Uint8Array,
  claim: string | null,
  name: string | null,
  walk: ExtractionWalk,
): Record<string, unknown> {
  const path = [...walk.path]
  const asset = walk.persist(bytes, claim, path, name)
  walk.found.push({ path, asset })
  const { asset_id, uri, content_type, size, sha256 } = asset
  return { type: mediaKindOf(content_type), uri, asset_id, content_type, size, sha256 }
}
