// Callers from really remote addresses: a second machine at the other end of a cable, as containers and virtual machines are.
// Two networks of the kernel's own serve for it, which takes Linux, `ip` and the right to make them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fits } from '../access/cases/wire.ts'
import type { Call, Plan } from './near.ts'

/** How to run in a network of one's own: as root of nothing but that, or as root. */
const WAYS = [
  ['unshare', '--user', '--map-root-user', '--net'],
  ['unshare', '--net'],
] as const
const works = WAYS.find(
  ([command, ...args]) => spawnSync(command, [...args, 'ip', 'link', 'add', 'svc-a', 'type', 'veth']).status === 0,
)
const [UNSHARE, ...ALONE] = works ?? WAYS[0]
// Where they are expected, as in continuous integration, to be without them is a failure.
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('netns') === true
const skip = !expected && !works && 'skipped: no networks can be made here (Debian: apt-get install iproute2)'

const CABLE = {
  lan: ['10.20.30.1', '10.20.30.2', 24],
  bridge: ['172.17.0.1', '172.17.0.2', 16],
  desktop: ['192.168.65.1', '192.168.65.2', 24],
  ipv6: ['fd00:20::1', 'fd00:20::2', 64],
  link: ['fe80::20:1', 'fe80::20:2', 64],
} as const
type Network = keyof typeof CABLE

const PATIENCE_MS = 120_000
const USER = 'user 1'
const REMOTE = '401 {"error":"Remote access requires authentication"}'
const UNAUTHORIZED = '401 {"error":"Unauthorized"}'
const BRIDGE = { SVC_TRUST_LOCAL_NETWORKS: '172.16.0.0/12' }

interface Row {
  readonly from: Network
  readonly headers?: Readonly<Record<string, string>>
  readonly comes: string
}

const by = (from: Network, comes: string, headers: Row['headers'] = {}): Row => ({ from, comes, headers })
const forwarded = (list: string) => ({ 'X-Forwarded-For': list })

/** What a server with these settings makes of its callers, by the interface. */
const SERVERS: readonly (readonly [name: string, settings: Record<string, string>, rows: readonly Row[]])[] = [
  [
    'in Local mode without settings trusts nobody out there',
    {},
    [
      by('lan', REMOTE),
      by('bridge', REMOTE),
      by('ipv6', REMOTE),
      by('link', REMOTE),
      by('lan', REMOTE, { Host: 'localhost', ...forwarded('127.0.0.1') }),
      by('lan', REMOTE, { Authorization: 'Bearer ntk_x' }),
    ],
  ],
  [
    'that trusts the bridge of containers takes its callers for user "1", by the Host and Origin rules',
    BRIDGE,
    [
      by('bridge', USER),
      by('bridge', USER, { Host: 'localhost:7777', Origin: 'http://localhost:3000' }),
      by('bridge', REMOTE, { Host: 'evil.example' }),
      by('bridge', REMOTE, { Origin: 'https://evil.example' }),
      by('bridge', REMOTE, { Origin: 'null' }),
      // Else a proxy in the network of the containers would make everybody the administrator.
      by('bridge', REMOTE, forwarded('203.0.113.9')),
      by('lan', REMOTE),
      by('lan', REMOTE, forwarded('172.17.0.2')),
      by('desktop', REMOTE),
      by('ipv6', REMOTE),
    ],
  ],
  [
    'that trusts no loopback caller may still trust a network',
    { ...BRIDGE, SVC_TRUST_LOCALHOST: 'false' },
    [by('bridge', USER), by('lan', REMOTE)],
  ],
  [
    'that trusts the network of the desktop and one of IPv6 trusts no other',
    { SVC_TRUST_LOCAL_NETWORKS: '192.168.65.0/24, fd00:20::/64' },
    [by('desktop', USER), by('ipv6', USER), by('bridge', REMOTE), by('link', REMOTE), by('lan', REMOTE)],
  ],
  [
    'that trusts what is on its cable leaves the zone of an address out',
    { SVC_TRUST_LOCAL_NETWORKS: 'fe80::/10' },
    [by('link', USER), by('ipv6', REMOTE)],
  ],
  [
    'behind a proxy believes it alone of whom it forwards for',
    { ...BRIDGE, SVC_TRUSTED_PROXIES: '10.20.30.2' },
    [
      by('lan', USER, forwarded('172.20.0.9')),
      by('lan', USER, forwarded('203.0.113.9, 172.20.0.9')),
      by('lan', REMOTE, forwarded('172.20.0.9, 203.0.113.9')),
      by('lan', REMOTE, forwarded('127.0.0.1')),
      by('bridge', REMOTE, forwarded('172.20.0.9')),
      by('bridge', USER),
      by('ipv6', REMOTE, forwarded('172.20.0.9')),
    ],
  ],
  [
    'with an identity provider trusts no network',
    { ...BRIDGE, IDP_URL: 'http://127.0.0.1:9', IDP_KEY: 'a-key-that-nobody-asks-for' },
    [by('bridge', UNAUTHORIZED), by('lan', UNAUTHORIZED), by('ipv6', UNAUTHORIZED)],
  ],
]

/** Each row on both doors. */
function callsOf(rows: readonly Row[]): Call[] {
  return rows.flatMap(({ from, headers = {} }) => {
    const [to, caller] = CABLE[from]
    // An address of the cable itself is said together with the caller's end of it.
    const zone = from === 'link' ? '%svc-far' : ''
    const call = { from: caller + zone, to: to + zone, headers: { Host: hostOf(to), ...headers } }
    return [
      { ...call, socket: false },
      { ...call, socket: true },
    ]
  })
}

function hostOf(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

function run(plan: Plan): string[][] {
  const near = fileURLToPath(new URL('near.ts', import.meta.url))
  const input = JSON.stringify(plan)
  const ran = spawnSync(UNSHARE, [...ALONE, process.execPath, near], { input, encoding: 'utf8', timeout: PATIENCE_MS })
  assert.equal(ran.status, 0, ran.stderr || String(ran.error))
  return JSON.parse(ran.stdout) as string[][]
}

describe('from another machine, a server', { skip }, () => {
  let seen: string[][]
  before(() => {
    const servers = SERVERS.map(([, environment, rows]) => ({ environment, calls: callsOf(rows) }))
    seen = run({ cable: Object.values(CABLE), servers })
  })

  for (const [at, [name, , rows]] of SERVERS.entries()) {
    test(name, () => {
      const calls = callsOf(rows)
      for (const [index, { from, headers, socket }] of calls.entries()) {
        const { comes } = rows[Math.floor(index / 2)]!
        const wanted = socket && comes !== USER ? '401 bare' : comes
        const came = seen[at]![index]!
        assert.ok(fits(wanted, came), `${socket ? 'socket' : 'HTTP'} from ${from} ${JSON.stringify(headers)}: ${came}`)
      }
    })
  }
})
