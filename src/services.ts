// What the nodes of this process may use besides their inputs: one sandbox, one way out to the network, and the secrets.
import type { Config } from './config.ts'
import type { NodeServices } from './engine/services.ts'
import { createOutgoingHttp } from './net/outgoing-http.ts'
import { createSandbox } from './sandbox/sandbox.ts'

export interface Services extends AsyncDisposable {
  /** What the nodes of one user's workflows may use. */
  of(user_id: string): NodeServices
}

/** The user that a server without an identity provider serves; secrets out of the environment are this user's. */
const LOCAL_USER = '1'

/** Starts nothing before a node asks for it; ends everything when disposed of. */
export function createServices(config: Pick<Config, 'http_node_allow' | 'secrets'>): Services {
  const sandbox = createSandbox()
  const http = createOutgoingHttp({ allow: config.http_node_allow })
  const local: NodeServices = {
    sandbox,
    http,
    secret: async (name) => (Object.hasOwn(config.secrets, name) ? config.secrets[name]! : null),
  }
  const others: NodeServices = { sandbox, http, secret: async () => null }
  return {
    of: (user_id) => (user_id === LOCAL_USER ? local : others),
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]()
      await http[Symbol.asyncDispose]()
    },
  }
}
