// Resolves pictures, sounds and files in conversations: URLs become `data:` URLs, so that providers receive bytes and
// fetch nothing. Inline content is checked and left unchanged. `media-loader.ts` has the limits.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { AssetAccess } from '../../engine/node-api/services/assets.ts'
import type { OutgoingHttp } from '../../engine/node-api/services/outgoing-http.ts'
import { ServiceError } from '../../errors.ts'
import type { Modality, Model } from '../../models/provider.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { type LoadedMedia, type LoadMedia, MediaLoader } from './media-loader.ts'

export interface InlineMediaParts {
  /** The client that refuses internal addresses. */
  readonly http: OutgoingHttp
  /** The assets that the owner may load. */
  assetsOf(owner: OwnerScope): Pick<AssetAccess, 'load'>
  readonly signal: AbortSignal
  /** Time slices for the search: a request may have very many parts. */
  readonly slices: Pick<TimeSliceScheduler, 'begin'>
  /** The requested model, if it is known. */
  readonly model?: TargetModel
  /** Milliseconds for one picture; tests set a shorter time. */
  readonly fetch_ms?: number
}

/** A location of content in the request, and its current value. */
interface MediaLocation {
  readonly message: number
  readonly part: number
  readonly type: 'image_url' | 'input_audio' | 'file'
  readonly key: 'url' | 'data' | 'file_data'
  /** The path of the location in the format of OpenAI's errors. */
  readonly param: string
  readonly value: string
}

const URL_KEYS = { image_url: 'url', input_audio: 'data', file: 'file_data' } as const
const MODALITIES: Readonly<Record<MediaLocation['type'], { readonly modality: Modality; readonly what: string }>> = {
  image_url: { modality: 'image', what: 'pictures' },
  input_audio: { modality: 'audio', what: 'sounds' },
  file: { modality: 'file', what: 'files' },
}

/** The limit of locations that are fetched or loaded for one request. */
const MAX_LOADED = 50
/** The limit of parallel fetches. */
const PARALLEL_LOADS = 4

/**
 * Returns the same request with every URL resolved; the same object if there is no URL.
 * @throws ServiceError INVALID_REQUEST with the location; SERVICE_UNAVAILABLE; the signal's reason
 */
export async function inlineMedia(
  body: ChatCompletionRequest,
  owner: OwnerScope,
  tools: InlineMediaParts,
): Promise<ChatCompletionRequest> {
  const stop = new AbortController()
  const { http, signal, fetch_ms } = tools
  const media = new MediaLoader({
    http,
    assets: tools.assetsOf(owner),
    signal: AbortSignal.any([signal, stop.signal]),
    ...(fetch_ms === undefined ? {} : { fetch_ms }),
  })
  const loadings = await tools.slices.begin(userShareKey(owner), findMediaSteps(body, media, tools.model ?? null))
  const loaded = await loadAll(loadings, stop)
  return loaded.size === 0 ? body : replaceWithLoaded(body, loaded)
}

/**
 * Finds the content to fetch or load.
 * @throws ServiceError INVALID_REQUEST with the first location whose content cannot be sent
 */
function* findMediaSteps(
  { messages }: ChatCompletionRequest,
  media: MediaLoader,
  model: TargetModel,
): Steps<MediaToLoad[]> {
  const found: MediaToLoad[] = []
  for (const [message, { content }] of messages.entries()) {
    for (const [index, part] of Array.isArray(content) ? content.entries() : []) {
      const place = locatePart(part, message, index)
      if (!place) continue
      guardModality(place, model)
      const loading = withLocatedErrors(place, () => media.prepareLoad(place.type, place.value))
      if (loading) found.push({ place, loading })
      if (found.length > MAX_LOADED)
        throw createLocationError(place, `At most ${MAX_LOADED} pictures and files are fetched for one request.`)
      yield
    }
  }
  return found
}

function locatePart(part: { readonly type: string }, message: number, index: number): MediaLocation | null {
  const type = part.type as MediaLocation['type']
  if (!Object.hasOwn(URL_KEYS, type)) return null
  const key = URL_KEYS[type]
  const value = (part as unknown as Record<string, Record<string, unknown> | undefined>)[type]?.[key]
  if (typeof value !== 'string') return null
  return { message, part: index, type, key, value, param: `messages[${message}].content[${index}].${type}.${key}` }
}

/** An empty list of modalities means that they are unknown. */
function guardModality(place: MediaLocation, model: TargetModel): void {
  const { modality, what } = MODALITIES[place.type]
  const known = model?.modalities ?? []
  if (known.length === 0 || known.includes(modality)) return
  throw createLocationError(place, `The model "${model!.id}" takes no ${what}.`)
}

type TargetModel = Pick<Model, 'id' | 'modalities'> | null

interface MediaToLoad {
  readonly place: MediaLocation
  readonly loading: LoadMedia
}

/** If one load fails, the other loads stop. */
async function loadAll(
  loadings: readonly MediaToLoad[],
  stop: AbortController,
): Promise<Map<MediaLocation, LoadedMedia>> {
  const loaded = new Map<MediaLocation, LoadedMedia>()
  const remaining = [...loadings]
  const work = async () => {
    for (let next = remaining.shift(); next; next = remaining.shift()) {
      try {
        loaded.set(next.place, await withLocatedErrors(next.place, next.loading))
      } catch (error) {
        remaining.length = 0
        stop.abort()
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL_LOADS, loadings.length) }, work))
  return loaded
}

/** Adds the location to an error. */
function withLocatedErrors<T>(place: MediaLocation, run: () => T): T {
  const fail = (error: unknown): never => {
    if (!(error instanceof NodeError)) throw error
    if (error.type === 'unavailable') throw new ServiceError('SERVICE_UNAVAILABLE', { cause: error })
    throw createLocationError(place, error.message, error)
  }
  try {
    const result = run()
    return result instanceof Promise ? (result.catch(fail) as T) : result
  } catch (error) {
    return fail(error)
  }
}

function createLocationError(
  { message, part, type, key, param }: MediaLocation,
  text: string,
  cause?: unknown,
): ServiceError {
  const path = `/body/messages/${message}/content/${part}/${type}/${key}`
  return new ServiceError('INVALID_REQUEST', { message: text, param, problems: [{ path, message: text }], cause })
}

/** Copies only the changed messages and parts. */
function replaceWithLoaded(
  body: ChatCompletionRequest,
  loaded: ReadonlyMap<MediaLocation, LoadedMedia>,
): ChatCompletionRequest {
  const messages = [...body.messages] as { content?: unknown }[]
  const copied = new Set<number>()
  for (const [{ message, part, type, key }, { url, name }] of loaded) {
    if (!copied.has(message)) messages[message] = { ...messages[message], content: [...getParts(messages[message])] }
    copied.add(message)
    const parts = getParts(messages[message])
    const before = parts[part] as Record<string, Record<string, unknown>>
    // Files that are sent as bytes need a name.
    const named = type === 'file' && name !== null ? { filename: before[type]!.filename ?? name } : {}
    parts[part] = { ...before, [type]: { ...before[type], ...named, [key]: url } }
  }
  return { ...body, messages: messages as ChatCompletionRequest['messages'] }
}

function getParts(message: { content?: unknown } | undefined): unknown[] {
  return message!.content as unknown[]
}
