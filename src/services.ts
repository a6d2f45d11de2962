// What the nodes of this process may use besides their inputs: one sandbox, one way out to the network, and the secrets of whoever they run for.
import type { Config } from './config.ts'
import type { NodeServices } from './engine/services.ts'
import { createOutgoingHttp } from './net/outgoing-http.ts'
import { createSandbox } from './sandbox/sandbox.ts'

export interface Services extends AsyncDisposable {
  /** What the nodes of one owner's workflows may use. `secret` finds the owner's secrets; what it throws fails the firing. */
  of(secret: (name: string) => string | null): NodeServices
}

/** Starts nothing before a node asks for it; ends everything when disposed of. */
export function createServices(config: Pick<Config, 'http_node_allow'>): Services {
  const sandbox = createSandbox()
  const http = createOutgoingHttp({ allow: config.http_node_allow })
  return {
    of: (secret) => ({ sandbox, http, secret: async (name) => secret(name) }),
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]()
      await http[Symbol.asyncDispose]()
    },
  }
}

/** The secrets of the operator's environment, for those that they belong to. */
export function environmentSecret({ secrets }: Pick<Config, 'secrets'>): (name: string) => string | null {
  return (name) => (Object.hasOwn(secrets, name) ? secrets[name]! : null)
}
