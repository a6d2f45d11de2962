// A real server for each mode, with a workflow of each owner and a token of each kind.
import { systemPlatform } from '../../../src/platform.ts'
import { type IdentityProvider, startIdentityProvider } from '../../helpers/identity-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { greeting } from '../../http/kit.ts'
import { type Clock, credentialsOf } from './credentials.ts'
import {
  ADDRESSES,
  ALLOWED_HOST,
  ALLOWED_ORIGIN,
  type Credentials,
  LAUNCH_SECRET,
  NETWORK,
  OWN_IPV4,
  OWN_IPV6,
  PROXY,
} from './wire.ts'
import type { Case, Mode, Token } from './words.ts'

const BRIDGES = { SVC_INTEGRATION_TOKEN: 'sixteen-characters-and-more' }
const OWN_NETWORKS = { SVC_TRUST_LOCAL_NETWORKS: [OWN_IPV4, OWN_IPV6].filter((address) => address !== null).join() }

/** The settings of each mode; modes that are named after the identity provider also get its settings. */
const SETTINGS: Readonly<Record<Mode, Record<string, string>>> = {
  local: {},
  'local, localhost not trusted': { SVC_TRUST_LOCALHOST: 'false' },
  'local, own address trusted': OWN_NETWORKS,
  'local, behind proxies': { SVC_TRUSTED_PROXIES: PROXY, SVC_TRUST_LOCAL_NETWORKS: NETWORK },
  'local, names allowed': {
    SVC_ALLOWED_HOSTS: ALLOWED_HOST,
    SVC_ALLOWED_ORIGINS: ALLOWED_ORIGIN,
    SVC_LOCAL_CLIENT_TOKEN: LAUNCH_SECRET,
  },
  'local, with bridges': BRIDGES,
  'identity provider': {},
  'identity provider, localhost trusted': { SVC_TRUST_LOCALHOST: 'true' },
  'identity provider, networks and bridges': { ...OWN_NETWORKS, ...BRIDGES },
  'identity provider, down': {},
}

/** Listens only on IPv4; the others on both, where IPv4 peers look like `::ffff:127.0.0.1`. */
const ON_IPV4: readonly Mode[] = ['local, behind proxies', 'identity provider']

export const OWNERS = [
  { user_id: '1', workspace_id: null },
  { user_id: 'alice', workspace_id: 'w1' },
  { user_id: 'bob', workspace_id: null },
  { user_id: 'bob', workspace_id: 'w2' },
  { user_id: 'carol', workspace_id: null },
  { user_id: 'root', workspace_id: null },
] as const

export interface ModeServer extends AsyncDisposable {
  readonly server: TestServer
  readonly port: number
  readonly credentials: Readonly<Record<Token, Credentials>>
  /** Whether this machine has the addresses that the case needs. */
  canTry(one: Case): boolean
}

export async function startMode(mode: Mode): Promise<ModeServer> {
  await using stack = new AsyncDisposableStack()
  const provider = stack.use(await startIdentityProvider())
  const clock: Clock = { ahead_ms: 0 }
  const host = ADDRESSES['loopback IPv6'] === null || ON_IPV4.includes(mode) ? '0.0.0.0' : '::'
  const server = stack.use(
    await startServer({ environment: environmentOf(mode, provider), config: { host }, platform: platformOf(clock) }),
  )
  const credentials = await credentialsOf(server, provider, clock)
  for (const owner of OWNERS) await seed(server, owner)
  if (mode.endsWith('down')) provider.down()
  const owned = stack.move()
  return {
    server,
    port: Number(new URL(server.url).port),
    credentials,
    canTry: ({ peer }) => ADDRESSES[peer] !== null && (host === '::' || !peer.includes('IPv6')),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function environmentOf(mode: Mode, provider: IdentityProvider): Record<string, string> {
  const identity = mode.startsWith('identity') ? { ...provider.environment, SVC_ADMIN_USERS: 'root' } : {}
  return { ...SETTINGS[mode], ...identity, SVC_RATE_LIMIT_DISABLED: '1' }
}

function platformOf(clock: Clock): ReturnType<typeof systemPlatform> {
  const system = systemPlatform()
  const now = () => system.now() + clock.ahead_ms
  return { ...system, now, timestamp: () => new Date(now()).toISOString() }
}

/** Stores a workflow that names its owner. */
async function seed({ context }: TestServer, owner: (typeof OWNERS)[number]): Promise<void> {
  const { user_id, workspace_id } = owner
  const name = `user ${user_id}${workspace_id === null ? '' : ` in ${workspace_id}`}`
  await context.runs.workflows.create(owner, greeting({ name }))
}
