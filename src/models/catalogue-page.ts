// The models that workflows may be given, as pages of one list: an entry for each model and kind of property that it fits, in the order of
// their keys. What `workflow/<id>` answers is for doors: nodes call workflows another way.
import type { ModelCatalog, ModelCatalogEntry } from '../../generated/types.ts'
import { ServiceError } from '../errors.ts'
import { canonicalHashSteps } from '../hashes.ts'
import { compared, sortedSteps } from '../sorting.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import type { Listed } from './catalogue.ts'
import type { Model, ProviderKind } from './provider.ts'

export interface CatalogueQuery {
  readonly compatibility?: string | null | undefined
  readonly availability?: ModelCatalogEntry['availability'] | null | undefined
  readonly provider?: string | null | undefined
  readonly cursor?: string | null | undefined
  readonly limit?: number | null | undefined
}

const DEFAULT_LIMIT = 100
/** Characters of a revision: enough to tell catalogues apart. */
const REVISION_LENGTH = 16

/** The kind of property that a task makes a model fit, and the task as this list names it. */
const FITS: Readonly<Record<string, { readonly compatibility: string; readonly task: string }>> = {
  chat: { compatibility: 'language_model', task: 'text_generation' },
  embedding: { compatibility: 'embedding_model', task: 'embedding' },
}

const AVAILABILITY: Readonly<Record<ProviderKind, ModelCatalogEntry['availability']>> = {
  builtin: 'ready_local',
  local: 'ready_local',
  openai_compatible: 'ready_remote',
  anthropic: 'ready_remote',
  google: 'ready_remote',
}

/**
 * A page of what the providers list, in steps: a list may have ten thousand models. `recommended` is the provider whose models are.
 * @throws INVALID_REQUEST for a cursor that no list gave
 */
export function* catalogueSteps(
  listed: readonly Listed[],
  query: CatalogueQuery,
  recommended: string | null,
): Steps<ModelCatalog> {
  const after = decodeCursor(query.cursor ?? null)
  const all = yield* entriesOf(listed, recommended)
  const found: ModelCatalogEntry[] = []
  yield* forEachStep(all, (entry) => {
    if (isAsked(entry, query) && (after === null || compared(entry.key, after) > 0)) found.push(entry)
  })
  const entries = found.slice(0, query.limit ?? DEFAULT_LIMIT)
  return {
    version: '1',
    catalog_revision: (yield* canonicalHashSteps(all)).slice(0, REVISION_LENGTH),
    scope: 'local',
    entries,
    next_cursor: found.length > entries.length ? encodeCursor(entries.at(-1)!.key) : null,
  }
}

function* entriesOf(listed: readonly Listed[], recommended: string | null): Steps<ModelCatalogEntry[]> {
  const entries: ModelCatalogEntry[] = []
  for (const { provider, models } of listed) {
    const isRecommended = recommended === provider.name
    yield* forEachStep(models, (model) => {
      entries.push(...entriesFor(model, provider.name, provider.kind, isRecommended))
    })
  }
  return yield* sortedSteps(entries, (a, b) => compared(a.key, b.key))
}

function entriesFor(model: Model, provider: string, kind: ProviderKind, recommended: boolean): ModelCatalogEntry[] {
  const { id, title, tasks, size_on_disk = null, unavailable } = model
  return Object.entries(FITS).flatMap(([name, { compatibility, task }]) => {
    if (!tasks.includes(name)) return []
    return {
      key: `${compatibility}:${id}`,
      display_name: title,
      compatibility,
      availability: unavailable === undefined ? AVAILABILITY[kind] : 'unavailable',
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

function isAsked(entry: ModelCatalogEntry, { compatibility, availability, provider }: CatalogueQuery): boolean {
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
  const key = parsed(cursor)
  if (key !== null) return key
  throw new ServiceError('INVALID_REQUEST', {
    message: 'The cursor is not one that this server gave out.',
    problems: [{ path: '/query/cursor', message: 'not a cursor of this list' }],
  })
}

function parsed(cursor: string): string | null {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(position) && position.length === 1 && typeof position[0] === 'string' ? position[0] : null
  } catch {
    return null
  }
}
