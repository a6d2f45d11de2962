// Malformed requests and handshakes: none is accepted, stops the service, or leaves anything behind. SVC_TEST_SEED= repeats a run.
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { Random } from '../crash/random.ts'
import { call } from '../helpers/http.ts'
import { scaled } from '../helpers/scale.ts'
import { until } from '../helpers/server.ts'
import { type ModeServer, startMode } from './cases/servers.ts'
import { OWN_IPV4, PROXY } from './cases/wire.ts'
import type { Mode, Token } from './cases/words.ts'
import { exchange, type Place, type Reply } from './fuzz/exchange.ts'
import { nothingFor, notServed, refused, sound } from './fuzz/judge.ts'
import * as junk from './fuzz/junk.ts'
import * as places from './fuzz/junk-places.ts'
import * as tokens from './fuzz/junk-tokens.ts'
import { asked, askedOf, host, written } from './fuzz/written.ts'

/** The number of requests, in the proportions of `KINDS`. */
const REQUESTS = Math.min(scaled(2_000), 100_000)
const AT_ONCE = 16
const SHOWN = 5
const CLOSING_MS = 30_000
const seed = process.env.SVC_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31))

/** The address of a stranger: this machine from outside, else loopback, to servers that do not trust it. */
const STRANGER = OWN_IPV4 ?? '127.0.0.1'
const LOCAL: Mode = OWN_IPV4 ? 'local, with bridges' : 'local, localhost not trusted'
const PROVIDER: Mode = 'identity provider, networks and bridges'
const STRANGERS: readonly Mode[] = [LOCAL, PROVIDER]
const MODES: readonly Mode[] = [...STRANGERS, 'local', 'local, behind proxies']
const GOOD: readonly Token[] = [
  'ntk_ good',
  'nta_ good',
  'nda_ good',
  'delegated good',
  'JWT good',
  'JWT good, of an administrator',
  'opaque good',
]

const running = new Map<Mode, ModeServer>()
let openBefore = 0
before(async () => {
  for (const mode of MODES) running.set(mode, await startMode(mode))
  await healthy()
  openBefore = openFiles()
})
after(() => Promise.all([...running.values()].map((mode) => mode[Symbol.asyncDispose]())))

interface Shot {
  mode: Mode
  from: string
  bytes: Buffer
  /** Whether to close after the bytes, which may be a part of a request. */
  ends?: boolean
  /** The fault of the answer, or null. */
  judge: (reply: Reply) => string | null
}

function tokenOf(mode: Mode, token: Token): string {
  return running.get(mode)!.credentials[token].token!
}

const KINDS: Readonly<Record<string, (random: Random) => Shot>> = {
  'without a credential': (random) => {
    const [method, target] = [junk.method(random), junk.target(random)]
    const credential: junk.Headers = random.chance(0.6) ? [['Authorization', tokens.authorization(random)]] : []
    const upgrade = random.chance(0.3) ? junk.handshake(random) : []
    const bytes = written(method, target, [...host, ...junk.noise(random), ...credential, ...upgrade])
    const judge = (reply: Reply) => nothingFor(method, target, reply)
    return { mode: random.pick(STRANGERS), from: STRANGER, bytes, judge }
  },
  'with a token that was good': (random) => {
    const mode = random.pick(STRANGERS)
    const good = tokenOf(mode, random.pick(GOOD))
    const headers = random.chance(0.7)
      ? ([['Authorization', `Bearer ${tokens.mangled(random, good)}`]] as junk.Headers)
      : tokens.misplaced(random, good)
    return { mode, from: STRANGER, judge: refused, bytes: asked(random, [...headers, ...junk.noise(random)]) }
  },
  'with a token that was good, as api_key': (random) => {
    const mode = random.pick(STRANGERS)
    const good = tokenOf(mode, random.pick(GOOD))
    const [token, beside]: [string, junk.Headers] = random.chance(0.7)
      ? [tokens.mangled(random, good), []]
      : [good, [['Authorization', tokens.authorization(random)]]]
    const query = `?api_key=${random.chance(0.5) ? encodeURIComponent(token) : token}`
    return { mode, from: STRANGER, judge: refused, bytes: asked(random, beside, '/ws', query) }
  },
  'behind a proxy, for somebody else': (random) => {
    const list = places.forwardedList(random, '10.9.8.7')
    const lists: junk.Headers = [['X-Forwarded-For', list]]
    if (random.chance(0.3)) lists.unshift(['x-forwarded-for', places.forwardedList(random, '10.9.8.7')])
    return { mode: 'local, behind proxies', from: PROXY, judge: refused, bytes: asked(random, lists) }
  },
  'from a page of another site, or under another name': (random) => {
    const foreign: junk.Headers = random.chance(0.5)
      ? [['Host', places.foreignHost(random)]]
      : [...host, ['Origin', places.foreignOrigin(random)]]
    return { mode: 'local', from: '127.0.0.1', judge: refused, bytes: askedOf(random, foreign) }
  },
  'with bytes in disorder': (random) => {
    const bytes = junk.damaged(random, asked(random, junk.noise(random)))
    return { mode: random.pick(STRANGERS), from: STRANGER, bytes, ends: true, judge: notServed }
  },
  'that is not asked for, with a good token and nonsense around it': (random) => {
    const mode = random.pick(STRANGERS)
    const token = tokenOf(mode, random.pick(GOOD))
    const headers: junk.Headers = [...host, ['Authorization', `Bearer ${token}`], ...junk.noise(random)]
    const upgrade = random.chance(0.5) ? junk.handshake(random) : []
    const method = random.pick(['GET', 'HEAD', 'OPTIONS', 'PROPFIND'])
    const bytes = written(method, junk.target(random), [...headers, ...upgrade])
    return { mode, from: STRANGER, bytes, judge: sound }
  },
}

interface Outcome {
  /** The fault, with the bytes that caused it. */
  readonly failures: string[]
  /** The number of answers by status. */
  readonly statuses: Record<string, number>
}

async function send(kind: string, count: number): Promise<Outcome> {
  const make = KINDS[kind]!
  const failures: string[] = []
  const statuses: Record<string, number> = {}
  let next = 0
  const work = async () => {
    while (next < count && failures.length < SHOWN) {
      const number = next++
      const shot = make(new Random(`${seed}/${kind}/${number}`))
      const [status, wrong] = await outcomeOf(shot)
      statuses[status] = (statuses[status] ?? 0) + 1
      if (wrong) failures.push(`#${number} [${shot.mode}] ${shown(shot.bytes.toString('latin1'))}\n  ${wrong}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { failures, statuses }
}

async function outcomeOf({ mode, from, bytes, ends = false, judge }: Shot): Promise<[string, string | null]> {
  const place: Place = {
    port: running.get(mode)!.port,
    host: from === STRANGER ? from : '127.0.0.1',
    localAddress: from,
  }
  try {
    const reply = await exchange(place, bytes, ends)
    const wrong = judge(reply)
    return [String(reply.status), wrong && `${wrong}: ${shown(reply.head)} ${shown(reply.body)}`]
  } catch (error) {
    return ['none', String(error)]
  }
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 1_000))
}

function openFiles(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0
}

async function healthy(): Promise<void> {
  for (const mode of MODES) {
    const url = `http://127.0.0.1:${running.get(mode)!.port}`
    assert.equal((await call({ url }, 'GET', '/health')).status, 200)
    const headers = { Authorization: `Bearer ${tokenOf(mode, 'ntk_ good')}` }
    assert.equal((await call({ url }, 'GET', '/api/workflows', { headers })).status, 200)
  }
}

describe(`${REQUESTS} malformed requests from the seed ${seed}`, () => {
  for (const kind of Object.keys(KINDS)) {
    test(`no request is accepted ${kind}`, async (t) => {
      const count = Math.ceil(REQUESTS / Object.keys(KINDS).length)
      const { failures, statuses } = await send(kind, count)
      t.diagnostic(JSON.stringify(statuses))
      assert.ok(failures.length === 0, `seed ${seed}\n${failures.join('\n')}`)
      assert.ok(statuses['401'], 'none got as far as to be asked who it is')
      await healthy()
    })
  }

  // Connections to the identity provider stay open for some seconds.
  test('all connections are closed', async () => {
    await until('no more files to be open than before', () => openFiles() <= openBefore, CLOSING_MS)
  })
})
