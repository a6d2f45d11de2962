// What the nodes of this process may use besides their inputs: one sandbox, one way out to the network, models, and the secrets of whoever
// they run for.
import { createCompute } from './compute/compute.ts'
import type { Config } from './config.ts'
import {
  type AssetAccess,
  type MediaAccess,
  type NodeServices,
  noServices,
  type OutgoingHttp,
  type ToolAccess,
  type VectorAccess,
} from './engine/services.ts'
import { createMedia } from './media/media.ts'
import { type Customer, customerWith } from './models/customer.ts'
import type { Models } from './models/models.ts'
import { createOutgoingHttp } from './net/outgoing-http.ts'
import type { OwnRequests } from './net/own-requests.ts'
import { createSandbox } from './sandbox/sandbox.ts'

/** What one owner's workflows bring. What the functions throw fails the firing. */
export interface Owned {
  /** The key of the owner. Absent: there is one user only. */
  readonly owner?: string
  secret(name: string): string | null
  readonly customer: Customer
  /** Absent: there is no store to load from. */
  readonly assets?: AssetAccess
  /** Absent: there is no store to keep them in. */
  readonly vectors?: VectorAccess
  /** Absent: models have nothing to call. */
  readonly tools?: ToolAccess
  /** Absent: nothing is known that is secret. */
  redact?(text: string): string
}

export interface Services extends AsyncDisposable {
  /** The guarded client, for doors that fetch on behalf of this owner. */
  httpOf(owner: string): OutgoingHttp
  /** For work on files that nobody's workflow asked for. */
  readonly media: MediaAccess
  /** The threads that read slow expressions of graphs. */
  readonly workers: Pick<NodeServices, 'compute' | 'sandbox'>
  /** What the nodes of one owner's workflows may use. */
  of(owned: Owned): NodeServices
}

/**
 * Starts nothing before a node asks for it; ends everything when disposed of. `failed` is told, for the log, where work on a file fails and the
 * file is not the reason. `own` knows what nodes send, in a process that serves as well.
 */
export function createServices(
  config: Pick<Config, 'http_node_allow'>,
  models: Models,
  failed: (detail: string) => void = () => {},
  own: OwnRequests | null = null,
): Services {
  const sandbox = createSandbox()
  const media = createMedia({ failed })
  const compute = createCompute({ failed })
  const http = createOutgoingHttp({ allow: config.http_node_allow, own })
  return {
    httpOf: (owner) => http.of(owner),
    media,
    workers: { compute, sandbox },
    of: ({ owner = noServices.owner, secret, customer, redact = noServices.redact, ...owned }) => ({
      owner,
      assets: owned.assets ?? noServices.assets,
      models: models.of(customer),
      vectors: owned.vectors ?? noServices.vectors,
      sandbox,
      media,
      compute,
      http: http.of(owner),
      tools: owned.tools ?? noServices.tools,
      secret: async (name) => secret(name),
      redact,
    }),
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]()
      await media[Symbol.asyncDispose]()
      await compute[Symbol.asyncDispose]()
      await http[Symbol.asyncDispose]()
    },
  }
}

/** Whose calls of models they are where there are no users. */
const OPERATOR = 'operator'

/** The secrets and keys of the operator's environment, for those that they belong to. */
export function environmentSecrets({ secrets, provider_keys }: Pick<Config, 'secrets' | 'provider_keys'>): Owned {
  const keys = { ...provider_keys, ...secrets }
  return {
    secret: (name) => (Object.hasOwn(secrets, name) ? secrets[name]! : null),
    customer: customerWith((name) => (Object.hasOwn(keys, name) ? keys[name]! : null), OPERATOR),
  }
}
