// The services of a durable run. Requests that leave the process wait until all records of the run are durable. See law 67
// in ../README.md. The class lists each service, so that adding one requires a decision.

import { NodeError } from '../node-api/node-error.ts'
import type { NodeServices } from '../node-api/node-services.ts'
import type { AssetAccess } from '../node-api/services/assets.ts'
import type { ModelAccess } from '../node-api/services/models.ts'
import type { OutgoingHttp } from '../node-api/services/outgoing-http.ts'
import type { VectorAccess } from '../node-api/services/vectors.ts'
import type { RunAborter } from '../runtime/run/aborter.ts'
import type { RunState } from '../runtime/run/state.ts'
import type { Journal } from './journal.ts'

/** Sends a request once everything that it may depend on is durable, or at once if it already is. */
type SendWhenDurable = <T>(send: () => Promise<T>) => Promise<T>

export class DurableServices implements NodeServices {
  readonly owner: string
  // These services stay within this process and its children.
  readonly sandbox: NodeServices['sandbox']
  readonly media: NodeServices['media']
  readonly compute: NodeServices['compute']
  readonly tools: NodeServices['tools']
  readonly secret: NodeServices['secret']
  readonly redact: NodeServices['redact']
  readonly redactTexts: NodeServices['redactTexts']
  readonly #services: NodeServices
  readonly #journal: Journal
  readonly #state: RunState
  readonly #aborter: RunAborter
  // Created on demand: most runs use none of them.
  #assets: AssetAccess | null = null
  #models: ModelAccess | null = null
  #vectors: VectorAccess | null = null
  #http: OutgoingHttp | null = null

  constructor(services: NodeServices, journal: Journal, state: RunState, aborter: RunAborter) {
    this.owner = services.owner
    this.sandbox = services.sandbox
    this.media = services.media
    this.compute = services.compute
    this.tools = services.tools
    this.secret = services.secret
    this.redact = services.redact
    this.redactTexts = services.redactTexts
    this.#services = services
    this.#journal = journal
    this.#state = state
    this.#aborter = aborter
  }

  get assets(): AssetAccess {
    this.#assets ??= wrapAssets(this.#services.assets, (send) => this.#sendWhenDurable(send))
    return this.#assets
  }

  get models(): ModelAccess {
    this.#models ??= wrapModels(this.#services.models, (send) => this.#sendWhenDurable(send))
    return this.#models
  }

  get vectors(): VectorAccess {
    this.#vectors ??= wrapVectors(this.#services.vectors, (send) => this.#sendWhenDurable(send))
    return this.#vectors
  }

  get http(): OutgoingHttp {
    const { http } = this.#services
    this.#http ??= { send: (request) => this.#sendWhenDurable(() => http.send(request)) }
    return this.#http
  }

  #sendWhenDurable<T>(send: () => Promise<T>): Promise<T> {
    const durable = this.#journal.whenDurable()
    return durable ? this.#waitUntilDurable(durable).then(send) : send()
  }

  /** Rejects if the journal fails, which fails the run, and if the run was stopped meanwhile. */
  async #waitUntilDurable(durable: Promise<void>): Promise<void> {
    try {
      await durable
    } catch (fault) {
      if (!this.#state.settled) this.#state.breakDown(fault)
      throw new NodeError('The run has stopped.', 'cancelled')
    }
    this.#aborter.signal.throwIfAborted()
  }
}

/** Files may lie in a bucket, so loading one is a request too. The list comes from the database. */
function wrapAssets(assets: AssetAccess, sendWhenDurable: SendWhenDurable): AssetAccess {
  return {
    load: (reference, max_bytes, held) => sendWhenDurable(() => assets.load(reference, max_bytes, held)),
    save: (asset) => sendWhenDurable(() => assets.save(asset)),
    list: (query, signal) => assets.list(query, signal),
  }
}

function wrapModels(models: ModelAccess, sendWhenDurable: SendWhenDurable): ModelAccess {
  return {
    // The model is called when the first part is read.
    async *complete(request) {
      yield* await sendWhenDurable(async () => models.complete(request))
    },
    embed: (request) => sendWhenDurable(() => models.embed(request)),
    capabilities: (model, signal) => sendWhenDurable(() => models.capabilities(model, signal)),
  }
}

/** Other runs and clients read what `put` and `remove` change. */
function wrapVectors(vectors: VectorAccess, sendWhenDurable: SendWhenDurable): VectorAccess {
  return {
    put: (index, entries, model, signal) => sendWhenDurable(() => vectors.put(index, entries, model, signal)),
    remove: (index, which, signal) => sendWhenDurable(() => vectors.remove(index, which, signal)),
    info: (index) => vectors.info(index),
    list: () => vectors.list(),
    search: (query) => vectors.search(query),
  }
}
