// Pictures, sounds and files in conversations: addresses become what stands there, as `data:` URLs, so that providers get bytes and fetch nothing
// themselves. What the caller sent inline is looked at and left as it is. Where things are fetched and how much of them is in media-parts.ts.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { AssetAccess, OutgoingHttp } from '../../engine/node-api/node-services.ts'
import { ServiceError } from '../../errors.ts'
import type { Modality, Model } from '../../models/provider.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import { type LoadedMedia, type LoadMedia, MediaLoader } from './media-loader.ts'

export interface InlineMediaParts {
  /** The guarded client. */
  readonly http: OutgoingHttp
  /** What the owner may load. */
  assetsOf(owner: OwnerScope): Pick<AssetAccess, 'load'>
  readonly signal: AbortSignal
  /** In which parts are looked at: a request may have very many. */
  readonly slices: Pick<TimeSliceScheduler, 'begin'>
  /** The model that is asked, where that is known. */
  readonly model?: TargetModel
  /** Milliseconds for one picture, where a test does not want to wait. */
  readonly fetch_ms?: number
}

/** A place in the request that holds content, and how what is there now is put back. */
interface MediaLocation {
  readonly message: number
  readonly part: number
  readonly type: 'image_url' | 'input_audio' | 'file'
  readonly key: 'url' | 'data' | 'file_data'
  /** The path of the place, as OpenAI's errors name it. */
  readonly param: string
  readonly value: string
}

const URL_KEYS = { image_url: 'url', input_audio: 'data', file: 'file_data' } as const
const MODALITIES: Readonly<Record<MediaLocation['type'], { readonly modality: Modality; readonly what: string }>> = {
  image_url: { modality: 'image', what: 'pictures' },
  input_audio: { modality: 'audio', what: 'sounds' },
  file: { modality: 'file', what: 'files' },
}

/** The most places that are fetched or loaded for one request. */
const MAX_LOADED = 50
/** How many are fetched at a time. */
const PARALLEL_LOADS = 4

/**
 * The same request with every address of content resolved; the very same object where there is none.
 * @throws ServiceError INVALID_REQUEST with the place; SERVICE_UNAVAILABLE; the signal's reason
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

/** What is to be fetched or loaded. @throws ServiceError INVALID_REQUEST with the first place of what cannot be sent */
function* findMediaSteps(
  { messages }: ChatCompletionRequest,
  media: MediaLoader,
  model: TargetModel,
): Steps<MediaToLoad[]> {
  const sought: MediaToLoad[] = []
  for (const [message, { content }] of messages.entries()) {
    for (const [index, part] of Array.isArray(content) ? content.entries() : []) {
      const place = locatePart(part, message, index)
      if (!place) continue
      guardModality(place, model)
      const loading = withLocatedErrors(place, () => media.prepareLoad(place.type, place.value))
      if (loading) sought.push({ place, loading })
      if (sought.length > MAX_LOADED)
        throw createLocationError(place, `At most ${MAX_LOADED} pictures and files are fetched for one request.`)
      yield
    }
  }
  return sought
}

function locatePart(part: { readonly type: string }, message: number, index: number): MediaLocation | null {
  const type = part.type as MediaLocation['type']
  if (!Object.hasOwn(URL_KEYS, type)) return null
  const key = URL_KEYS[type]
  const value = (part as unknown as Record<string, Record<string, unknown> | undefined>)[type]?.[key]
  if (typeof value !== 'string') return null
  return { message, part: index, type, key, value, param: `messages[${message}].content[${index}].${type}.${key}` }
}

/** A list that is empty says nothing. */
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

/** A few at a time. Where one cannot be had, the others are given up. */
async function loadAll(
  loadings: readonly MediaToLoad[],
  stop: AbortController,
): Promise<Map<MediaLocation, LoadedMedia>> {
  const loaded = new Map<MediaLocation, LoadedMedia>()
  const left = [...loadings]
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      try {
        loaded.set(next.place, await withLocatedErrors(next.place, next.loading))
      } catch (error) {
        left.length = 0
        stop.abort()
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL_LOADS, loadings.length) }, work))
  return loaded
}

/** A failure of what is at a place names the place. */
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

/** A copy as far as it differs. */
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
    // Files that come as bytes need a name.
    const named = type === 'file' && name !== null ? { filename: before[type]!.filename ?? name } : {}
    parts[part] = { ...before, [type]: { ...before[type], ...named, [key]: url } }
  }
  return { ...body, messages: messages as ChatCompletionRequest['messages'] }
}

function getParts(message: { content?: unknown } | undefined): unknown[] {
  return message!.content as unknown[]
}
