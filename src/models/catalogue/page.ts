// Makes pages of the model catalogue: one entry for each model and each kind of property that it fits, in the order of their keys. The models
// `workflow/<id>` are not in it: they exist for HTTP clients, and nodes call workflows in another way.
import type { ModelCatalog, ModelCatalogEntry } from '../../../generated/types.ts'
import { ServiceError } from '../../errors.ts'
import { canonicalHashSteps } from '../../shared/hashes.ts'
import { compareTexts, sortSteps } from '../../shared/sorting.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import type { Model, Provider } from '../provider.ts'
import type { ProviderModels } from './provider-models.ts'

export interface ModelCatalogQuery {
  readonly compatibility?: string | null | undefined
  readonly availability?: ModelCatalogEntry['availability'] | null | undefined
  readonly provider?: string | null | undefined
  readonly cursor?: string | null | undefined
  readonly limit?: number | null | undefined
}

const DEFAULT_PAGE_SIZE = 100
/** In characters: enough to tell catalogues apart. */
const REVISION_LENGTH = 16

/** For each task of a model: the kind of property that the model fits, and the catalogue's name of the task. */
const COMPATIBILITY_BY_TASK: Readonly<Record<string, { readonly compatibility: string; readonly task: string }>> = {
  chat: { compatibility: 'language_model', task: 'text_generation' },
  embedding: { compatibility: 'embedding_model', task: 'embedding' },
}

/**
 * Makes a page in steps, since a list may have ten thousand models. `recommended` is the provider whose models are recommended.
 * @throws INVALID_REQUEST for a cursor that is not from a catalogue page
 */
export function* createCatalogPageSteps(
  listed: readonly ProviderModels[],
  query: ModelCatalogQuery,
  recommended: string | null,
): Steps<ModelCatalog> {
  const after = decodeCursor(query.cursor ?? null)
  const all = yield* createEntriesSteps(listed, recommended)
  const matching: ModelCatalogEntry[] = []
  yield* forEachSteps(all, (entry) => {
    if (matchesQuery(entry, query) && (after === null || compareTexts(entry.key, after) > 0)) matching.push(entry)
  })
  const entries = matching.slice(0, query.limit ?? DEFAULT_PAGE_SIZE)
  return {
    version: '1',
    catalog_revision: (yield* canonicalHashSteps(all)).slice(0, REVISION_LENGTH),
    scope: 'local',
    entries,
    next_cursor: matching.length > entries.length ? encodeCursor(entries.at(-1)!.key) : null,
  }
}

function* createEntriesSteps(
  listed: readonly ProviderModels[],
  recommended: string | null,
): Steps<ModelCatalogEntry[]> {
  const entries: ModelCatalogEntry[] = []
  for (const { provider, models } of listed) {
    const isRecommended = recommended === provider.name
    yield* forEachSteps(models, (model) => {
      entries.push(...createEntries(model, provider, isRecommended))
    })
  }
  return yield* sortSteps(entries, (a, b) => compareTexts(a.key, b.key))
}

function createEntries(
  model: Model,
  { name: provider, base_url }: Provider,
  recommended: boolean,
): ModelCatalogEntry[] {
  const { id, title, tasks, size_on_disk = null, unavailable } = model
  const ready = base_url === undefined ? 'ready_local' : 'ready_remote'
  return Object.entries(COMPATIBILITY_BY_TASK).flatMap(([name, { compatibility, task }]) => {
    if (!tasks.includes(name)) return []
    return {
      key: `${compatibility}:${id}`,
      display_name: title,
      compatibility,
      availability: unavailable === undefined ? ready : 'unavailable',
      recommended,
      scope: 'local',
      provider,
      id,
      repo_id: null,
      path: null,
      supported_tasks: [task],
      size_on_disk,
      // Clients refuse an entry whose value is of another type.
      wire_value: { type: compatibility, id },
    }
  })
}

function matchesQuery(entry: ModelCatalogEntry, { compatibility, availability, provider }: ModelCatalogQuery): boolean {
  return (
    (compatibility ?? entry.compatibility) === entry.compatibility &&
    (availability ?? entry.availability) === entry.availability &&
    (provider ?? entry.provider) === entry.provider
  )
}

function encodeCursor(key: string): string {
  return Buffer.from(JSON.stringify([key])).toString('base64url')
}

function decodeCursor(cursor: string | null): string | null {
  if (cursor === null) return null
  const key = parseCursor(cursor)
  if (key !== null) return key
  throw new ServiceError('INVALID_REQUEST', {
    message: 'The cursor is not one that this server gave out.',
    problems: [{ path: '/query/cursor', message: 'not a cursor of this list' }],
  })
}

function parseCursor(cursor: string): string | null {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(position) && position.length === 1 && typeof position[0] === 'string' ? position[0] : null
  } catch {
    return null
  }
}
