// The provider of local models: files of the models folder. An optional package runs each model on this machine, in its own process.

import { describeProvider } from '../../../config/model-providers.ts'
import { DELETED_ROWS_OWNER } from '../../../db/owner-scope.ts'
import type {
  CompletionPart,
  CompletionRequest,
  EmbeddingRequest,
  Embeddings,
  Model,
  Provider,
  ProviderContext,
} from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'
import { type LocalModelFile, LocalModelFiles } from './model-files.ts'
import { DAMAGED_FILE_TEXT } from './model-process.ts'
import { LocalModelRunner } from './model-runner.ts'
import { createLocalRequest } from './request.ts'
import { findRuntimePackage, type RuntimePackageSearch } from './runtime-package.ts'

export interface LocalProviderOptions extends RuntimePackageSearch {
  /** The folder with the model files. */
  readonly models_dir: string
  /** The environment of the model processes. */
  readonly environment?: Readonly<Record<string, string>>
  /** The idle time in milliseconds after which a model is unloaded. */
  readonly idle_ms?: number
}

export interface LocalProvider extends Provider {
  [Symbol.dispose](): void
  /** Ids of the models that are loaded. */
  listLoadedIds(): readonly string[]
}

const { name: PROVIDER_NAME, title, kind } = describeProvider('local')
const IDLE_MS = 5 * 60_000
/** With this many loaded models, idle ones are unloaded before the next is loaded. */
const MAX_LOADED = 2
/** In tokens. Some models support more, but memory grows with the length. */
const MAX_CONTEXT_TOKENS = 16_384
const CHARACTERS_PER_TOKEN = 4
const FREE_PRICE = { currency: 'USD', per_request: 0, per_million_input_tokens: 0, per_million_output_tokens: 0 }

/** Disposing it ends its processes. */
export function createLocalProvider({
  models_dir,
  environment = {},
  idle_ms = IDLE_MS,
  ...search
}: LocalProviderOptions): LocalProvider {
  const files = new LocalModelFiles(models_dir)
  const runners = new Map<string, LocalModelRunner>()

  const runnerOf = (file: LocalModelFile, place: string): LocalModelRunner => {
    const key = `${file.path} ${file.size} ${file.changed_at}`
    const known = runners.get(key)
    if (known) return known
    const model = {
      id: `${PROVIDER_NAME}/${file.name}`,
      path: file.path,
      place,
      most_context: MAX_CONTEXT_TOKENS,
      environment,
    }
    const reportDamage = () => files.markFaulty(file, DAMAGED_FILE_TEXT)
    const runner = new LocalModelRunner({
      model,
      idle_ms,
      beforeLoad: (next) => unloadIdleModels(runners, next),
      reportDamage,
    })
    runners.set(key, runner)
    return runner
  }

  const find = async (name: string): Promise<LocalModelRunner> => {
    const file = await files.find(name)
    if (!file)
      throw new ProviderError('not_found', `There is no file of a model "${PROVIDER_NAME}/${name.slice(0, 100)}".`)
    // A fault of the file comes first: installing the runtime would not remove it.
    if (file.fault !== null) throw new ProviderError('unavailable', describeFault(file.name, file.fault))
    return runnerOf(file, requireRuntimeFolder(search))
  }

  return {
    name: PROVIDER_NAME,
    title,
    kind,
    credential: null,
    async models() {
      const lack = findRuntimeProblem(search)
      return (await files.list()).map((file) => createLocalModel(file, lack))
    },
    lack: () => findRuntimeProblem(search),
    async *complete(
      asked: CompletionRequest,
      { owner, signal }: ProviderContext,
    ): AsyncGenerator<CompletionPart, void, void> {
      const request = createLocalRequest(asked, PROVIDER_NAME)
      const runner = await find(asked.model)
      for await (const output of runner.run({ kind: 'complete', request }, owner ?? DELETED_ROWS_OWNER, signal))
        if (output.kind === 'part') yield output.part
    },
    async embed(asked: EmbeddingRequest, { owner, signal }: ProviderContext): Promise<Embeddings> {
      const runner = await find(asked.model)
      const inputs = readInputTexts(asked)
      const vectors: (readonly number[])[] = []
      for await (const output of runner.run({ kind: 'embed', inputs }, owner ?? DELETED_ROWS_OWNER, signal)) {
        if (output.kind === 'vector') vectors.push(output.vector)
        if (output.kind === 'embedded') return { vectors, input_tokens: output.input_tokens }
      }
      throw new ProviderError('failed', `The provider "${PROVIDER_NAME}" gave no vectors.`)
    },
    countTokens: (text) => Math.ceil(text.length / CHARACTERS_PER_TOKEN),
    listLoadedIds: () => [...runners.values()].filter(({ isLoaded }) => isLoaded).map(({ model }) => model.id),
    [Symbol.dispose]() {
      for (const runner of runners.values()) runner[Symbol.dispose]()
    },
  }
}

/** @throws ProviderError `unavailable` */
function requireRuntimeFolder(search: RuntimePackageSearch): string {
  const found = findRuntimePackage(search)
  if ('place' in found) return found.place
  throw new ProviderError('unavailable', found.lack)
}

function findRuntimeProblem(search: RuntimePackageSearch): string | null {
  const found = findRuntimePackage(search)
  return 'lack' in found ? found.lack : null
}

function describeFault(name: string, fault: string): string {
  return `The file of the model "${PROVIDER_NAME}/${name}" ${fault}.`
}

/** `lack`: why no local model can run; null where they can. */
function createLocalModel({ name, size, changed_at, header, fault }: LocalModelFile, lack: string | null): Model {
  const embeds = header?.embedding === true
  const length = header?.context_length ?? null
  const unavailable = fault === null ? lack : describeFault(name, fault)
  return {
    id: `${PROVIDER_NAME}/${name}`,
    name,
    title: fault === null ? name : `${name} (${fault})`,
    tasks: [embeds ? 'embedding' : 'chat'],
    price: FREE_PRICE,
    max_output_tokens: null,
    context_length: length === null ? null : Math.min(length, MAX_CONTEXT_TOKENS),
    modalities: ['text'],
    capabilities: embeds ? [] : ['streaming', 'structured_output', 'json_mode', 'seed'],
    created: Math.floor(changed_at / 1_000),
    size_on_disk: size,
    ...(unavailable === null ? {} : { unavailable }),
  }
}

/** Frees memory for the next model. Busy models stay loaded. */
function unloadIdleModels(runners: ReadonlyMap<string, LocalModelRunner>, next: LocalModelRunner): void {
  const others = [...runners.values()].filter((runner) => runner !== next && runner.isLoaded)
  if (others.length < MAX_LOADED) return
  for (const runner of others) if (!runner.isBusy) runner.unload()
}

function readInputTexts({ input, dimensions }: EmbeddingRequest): string[] {
  if (dimensions !== undefined && dimensions !== null) {
    const text = `The provider "${PROVIDER_NAME}" takes no \`dimensions\`: vectors have the length that their model gives.`
    throw new ProviderError('unsupported', text, { param: 'dimensions' })
  }
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input]
  const texts = inputs.filter((one) => typeof one === 'string')
  if (texts.length === inputs.length) return texts
  throw new ProviderError('unsupported', `The provider "${PROVIDER_NAME}" takes texts, and no tokens.`, {
    param: 'input',
  })
}
