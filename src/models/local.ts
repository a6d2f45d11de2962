// The provider of local models: files of the models folder, run on this machine by an optional package, each in a process of its own.

import { NOBODY } from '../db/scope.ts'
import { DAMAGED } from './local-child.ts'
import { type LocalFile, LocalFiles } from './local-files.ts'
import { findPackage, type PackageSearch } from './local-package.ts'
import { localRequest } from './local-request.ts'
import { LocalRunner } from './local-runner.ts'
import type {
  CompletionPart,
  CompletionRequest,
  EmbeddingRequest,
  Embeddings,
  Model,
  Provider,
  ProviderContext,
} from './provider.ts'
import { ProviderError } from './provider-error.ts'

export interface LocalOptions extends PackageSearch {
  /** Where the files are. */
  readonly models_dir: string
  /** What the processes find in theirs. */
  readonly environment?: Readonly<Record<string, string>>
  /** After so long without work a model is unloaded, in milliseconds. */
  readonly idle_ms?: number
}

export interface LocalProvider extends Provider {
  [Symbol.dispose](): void
  /** Ids of the models that are loaded. */
  loaded(): readonly string[]
}

const NAME = 'local'
const IDLE_MS = 5 * 60_000
/** With so many loaded, those that do nothing make room for the next. */
const MOST_LOADED = 2
/** Tokens. Models for longer conversations there are, but their memory grows with the length. */
const MOST_CONTEXT = 16_384
const CHARACTERS_OF_TOKEN = 4
const FREE = { currency: 'USD', per_request: 0, per_million_input_tokens: 0, per_million_output_tokens: 0 }

/** Ends its processes when it is disposed of. */
export function localProvider({
  models_dir,
  environment = {},
  idle_ms = IDLE_MS,
  ...search
}: LocalOptions): LocalProvider {
  const files = new LocalFiles(models_dir)
  const runners = new Map<string, LocalRunner>()

  const runnerOf = (file: LocalFile, place: string): LocalRunner => {
    const key = `${file.path} ${file.size} ${file.changed_at}`
    const known = runners.get(key)
    if (known) return known
    const model = { id: `${NAME}/${file.name}`, path: file.path, place, most_context: MOST_CONTEXT, environment }
    const damaged = () => files.condemn(file, DAMAGED)
    const runner = new LocalRunner({ model, idle_ms, loading: (next) => makeRoom(runners, next), damaged })
    runners.set(key, runner)
    return runner
  }

  const find = async (name: string): Promise<LocalRunner> => {
    const file = await files.find(name)
    if (!file) throw new ProviderError('not_found', `There is no file of a model "${NAME}/${name.slice(0, 100)}".`)
    // What is wrong with the file stays wrong, whatever is installed.
    if (file.fault !== null) throw new ProviderError('unavailable', sentenceOf(file.name, file.fault))
    return runnerOf(file, placeOf(search))
  }

  return {
    name: NAME,
    title: 'Local models',
    kind: 'local',
    credential: null,
    async models() {
      const lack = lackIn(search)
      return (await files.list()).map((file) => modelOf(file, lack))
    },
    lack: () => lackIn(search),
    async *complete(
      asked: CompletionRequest,
      { owner, signal }: ProviderContext,
    ): AsyncGenerator<CompletionPart, void, void> {
      const request = localRequest(asked, NAME)
      const runner = await find(asked.model)
      for await (const news of runner.ask({ kind: 'complete', request }, owner ?? NOBODY, signal))
        if (news.kind === 'part') yield news.part
    },
    async embed(asked: EmbeddingRequest, { owner, signal }: ProviderContext): Promise<Embeddings> {
      const runner = await find(asked.model)
      const inputs = textsOf(asked)
      const vectors: (readonly number[])[] = []
      for await (const news of runner.ask({ kind: 'embed', inputs }, owner ?? NOBODY, signal)) {
        if (news.kind === 'vector') vectors.push(news.vector)
        if (news.kind === 'embedded') return { vectors, input_tokens: news.input_tokens }
      }
      throw new ProviderError('failed', `The provider "${NAME}" gave no vectors.`)
    },
    countTokens: (text) => Math.ceil(text.length / CHARACTERS_OF_TOKEN),
    loaded: () => [...runners.values()].filter(({ loaded }) => loaded).map(({ model }) => model.id),
    [Symbol.dispose]() {
      for (const runner of runners.values()) runner[Symbol.dispose]()
    },
  }
}

/** @throws ProviderError `unavailable` */
function placeOf(search: PackageSearch): string {
  const found = findPackage(search)
  if ('place' in found) return found.place
  throw new ProviderError('unavailable', found.lack)
}

function lackIn(search: PackageSearch): string | null {
  const found = findPackage(search)
  return 'lack' in found ? found.lack : null
}

function sentenceOf(name: string, fault: string): string {
  return `The file of the model "${NAME}/${name}" ${fault}.`
}

/** `lack`: why nothing can run it. */
function modelOf({ name, size, changed_at, header, fault }: LocalFile, lack: string | null): Model {
  const embeds = header?.embedding === true
  const length = header?.context_length ?? null
  const unavailable = fault === null ? lack : sentenceOf(name, fault)
  return {
    id: `${NAME}/${name}`,
    name,
    title: fault === null ? name : `${name} (${fault})`,
    tasks: [embeds ? 'embedding' : 'chat'],
    price: FREE,
    max_output_tokens: null,
    context_length: length === null ? null : Math.min(length, MOST_CONTEXT),
    modalities: ['text'],
    capabilities: embeds ? [] : ['streaming', 'structured_output', 'json_mode', 'seed'],
    created: Math.floor(changed_at / 1_000),
    size_on_disk: size,
    ...(unavailable === null ? {} : { unavailable }),
  }
}

/** Memory is scarce: what does nothing goes, what works stays. */
function makeRoom(runners: ReadonlyMap<string, LocalRunner>, next: LocalRunner): void {
  const others = [...runners.values()].filter((runner) => runner !== next && runner.loaded)
  if (others.length < MOST_LOADED) return
  for (const runner of others) if (!runner.busy) runner.unload()
}

function textsOf({ input, dimensions }: EmbeddingRequest): string[] {
  if (dimensions !== undefined && dimensions !== null) {
    const text = `The provider "${NAME}" gives vectors in the length of their model alone.`
    throw new ProviderError('unsupported', text, { param: 'dimensions' })
  }
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input]
  const texts = inputs.filter((one) => typeof one === 'string')
  if (texts.length === inputs.length) return texts
  throw new ProviderError('unsupported', `The provider "${NAME}" takes texts, and no tokens.`, { param: 'input' })
}
