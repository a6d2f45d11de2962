// `svc models`: the models, and why some are unavailable.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { runModelsCommand } from '../../src/cli/models.ts'
import { discoverOnFirstUse } from '../../src/cli/run/lazy-model-discovery.ts'
import { CommandError } from '../../src/cli/shared/terminal.ts'
import { displayWidth } from '../../src/cli/shared/terminal-text.ts'
import { type Environment, readConfig } from '../../src/config.ts'
import type { ModelAccess } from '../../src/engine/node-api/services/models.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { collect } from '../helpers/loop.ts'
import { svc } from '../helpers/process.ts'
import { type Script, startUpstream } from '../helpers/upstream.ts'
import { Screen } from './kit.ts'

const KEY = 'sk-marked-0123456789abcdef'

interface Shown {
  code: number
  text: string
  lines: readonly string[]
}

async function shown(
  args: readonly string[],
  environment: Environment = {},
  more: { stop?: AbortSignal; columns?: number } = {},
): Promise<Shown> {
  const { stop = new AbortController().signal, columns = 10_000 } = more
  const stdout = new Screen(columns, 24)
  const terminal = { stdin: Readable.from([]), stdout, stderr: new Screen(80, 24), environment: {}, stop }
  const settings = { SVC_DATA_DIR: '/nowhere', SVC_PROBE_LOCAL_MODELS: 'off', ...environment }
  const code = await runModelsCommand(args, terminal, readConfig(settings, { host: '127.0.0.1', port: 0 }))
  return { code, text: stdout.writes.join(''), lines: stdout.lines }
}

describe('svc models', () => {
  test('lists the models with their prices', async () => {
    await using upstream = await startUpstream({ models: ['llama3', 'nomic-embed-text'] })
    const { code, lines } = await shown([], { SVC_MODEL_SERVERS: `acme=${upstream.base_url}` })
    assert.equal(code, 0)
    assert.ok(lines.includes(`acme (${upstream.base_url}): 2 models`))
    assert.ok(lines.includes('  acme/llama3            chat, free'))
    assert.ok(lines.includes('  acme/nomic-embed-text  embedding, free'))
    assert.ok(lines.includes('  builtin/echo  chat, free'))
  })

  test('shows the price of a model if its server states it', async () => {
    const pricing = { prompt: '0.0000005', completion: '0.000002', request: '0' }
    const body = JSON.stringify({ object: 'list', data: [{ id: 'm', context_length: 32_000, pricing }] })
    await using upstream = await startUpstream({ listing: () => ({ body }) })
    const far = upstream.base_url.replace('127.0.0.1', '0.0.0.0')
    const { lines } = await shown(['acme'], { SVC_MODEL_SERVERS: `acme=${far}` })
    assert.ok(
      lines.includes('  acme/m  chat, 32,000 tokens, USD 0.5 in and 2 out for a million tokens'),
      lines.join('\n'),
    )
    assert.equal(lines.at(-1), '1 model; 1 of 1 provider ready.')
  })

  test('states the date of prices that providers do not list themselves', async () => {
    const lists: Readonly<Record<string, unknown>> = {
      '/v1/models': { data: [{ id: 'claude-opus-5-5' }, { id: 'llama3' }] },
      '/v1beta/models': {
        models: [{ name: 'models/gemini-2.5-flash', supportedGenerationMethods: ['generateContent'] }],
      },
    }
    const server = createServer(({ url = '' }, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(lists[url.split('?', 1)[0]!] ?? {}))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const environment = {
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_BASE_URL: url,
      GEMINI_API_KEY: KEY,
      GOOGLE_GEMINI_BASE_URL: url,
      SVC_MODEL_SERVERS: `acme=${url}/v1`,
    }
    try {
      const all = await shown([], environment)
      const said = '2026-10-07 for google; 2026-11-10 for anthropic'
      assert.equal(all.lines.at(-1), `Prices that a provider does not list itself are as of ${said}.`, all.text)
      const one = await shown(['google'], environment)
      const own = 'Prices that a provider does not list itself are as of 2026-10-07 for google.'
      assert.equal(one.lines.at(-1), own, one.text)
      assert.match((await shown(['acme'], environment)).lines.at(-1)!, /^\d models?; /)
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })

  test('says which key to set', async () => {
    const { code, text } = await shown([])
    assert.equal(code, 0)
    assert.match(text, /^openai \(https:\/\/api\.openai\.com\/v1\): no key: set OPENAI_API_KEY$/m)
  })

  for (const [what, listing, environment, reason] of [
    [
      'refused the key',
      null,
      { ACME_API_KEY: KEY },
      /^The provider "acme" refused the key in the secret "ACME_API_KEY"\.$/,
    ],
    ['wants a key', null, {}, /^it needs a key: set ACME_API_KEY$/],
    ['fails', { status: 500, body: KEY }, { ACME_API_KEY: 'good' }, /failed to answer \(status 500\)/],
    ['is something else', { body: '<html>' }, { ACME_API_KEY: 'good' }, /no valid JSON/],
  ] as readonly (readonly [string, Script | null, Environment, RegExp])[])
    test(`says that a server ${what}`, async () => {
      await using upstream = await startUpstream({ keys: ['good'], listing: () => listing ?? {} })
      const settings = { SVC_MODEL_SERVERS: `acme=${upstream.base_url}`, ...environment }
      const { code, text } = await shown(['acme', '--json'], settings)
      assert.equal(code, 1)
      const [entry, ...others] = JSON.parse(text)
      assert.deepEqual(others, [])
      assert.match(entry.reason, reason)
      assert.equal(entry.status, listing ? 'failed' : 'no_key')
      assert.ok(!text.includes(KEY))
      assert.equal((await shown([], settings)).code, 0)
    })

  test('counts the unreadable entries of a list, and lists the rest', async () => {
    const body = JSON.stringify({ data: [{ id: 'a' }, { id: 7 }, {}, null] })
    await using upstream = await startUpstream({ listing: () => ({ body }) })
    const { lines } = await shown(['acme'], { SVC_MODEL_SERVERS: `acme=${upstream.base_url}` })
    assert.deepEqual(lines.slice(0, 2), [
      `acme (${upstream.base_url}): 1 model; 3 more in its list cannot be read`,
      '  acme/a  chat, free',
    ])
  })

  for (const [name, variable, key] of [
    ['anthropic', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY'],
    ['google', 'GOOGLE_GEMINI_BASE_URL', 'GEMINI_API_KEY'],
  ] as const)
    test(`names the URL at which no server listens: ${name}`, async () => {
      const upstream = await startUpstream()
      await upstream[Symbol.asyncDispose]()
      const { text } = await shown([name], { [variable]: upstream.origin, [key]: KEY })
      assert.ok(text.startsWith(`${name} (${upstream.origin}/v1`), text)
      assert.match(text, /refuses connections: nothing listens at its address/)
    })

  test('says that no server listens', async () => {
    const upstream = await startUpstream()
    await upstream[Symbol.asyncDispose]()
    const { text } = await shown(['acme'], { SVC_MODEL_SERVERS: `acme=${upstream.base_url}` })
    assert.match(text, /refuses connections: nothing listens at its address/)
  })

  test('writes the same as JSON', async () => {
    const { code, text } = await shown(['builtin', '--json'])
    const [{ models: all, ...entry }] = JSON.parse(text)
    assert.equal(code, 0)
    assert.deepEqual(entry, {
      name: 'builtin',
      title: 'Built in',
      kind: 'builtin',
      base_url: null,
      credential: null,
      status: 'ready',
      reason: null,
    })
    assert.equal(all[0].id, 'builtin/echo')
  })

  test('refuses an unknown provider', async () => {
    await assert.rejects(shown(['opanai']), (error) => {
      assert.ok(error instanceof CommandError)
      assert.equal(error.code, 1)
      assert.match(error.message, /no provider "opanai"; there are builtin, openai/)
      return true
    })
  })

  test('stops at Ctrl-C', async () => {
    await using upstream = await startUpstream({ listing: () => ({ hangs: 'head' }) })
    const stop = new AbortController()
    const running = shown([], { SVC_MODEL_SERVERS: `acme=${upstream.base_url}` }, { stop: stop.signal })
    setImmediate(() => stop.abort('SIGINT'))
    assert.deepEqual(await running, { code: 130, text: '', lines: [] })
  })

  test('has no line that the terminal would break', async () => {
    const models = ['an-organisation/a-model-with-a-rather-long-name-and-a-version']
    await using upstream = await startUpstream({ models })
    const { lines } = await shown([], { SVC_MODEL_SERVERS: `acme=${upstream.base_url}` }, { columns: 60 })
    assert.deepEqual(
      lines.filter((line) => displayWidth(line) > 60 && line.trim().includes(' ')),
      [],
    )
  })

  test('is a command of svc with a help text', async () => {
    const [listed, help, wrong] = await Promise.all([
      svc(['models', 'builtin']),
      svc(['models', '--help']),
      svc(['models', 'a', 'b']),
    ])
    assert.equal(listed.code, 0)
    assert.match(listed.stdout, /^ {2}builtin\/echo {2}chat, free$/m)
    assert.match(help.stdout, /SVC_PROBE_LOCAL_MODELS/)
    assert.equal(wrong.code, 2)
  })
})

test('a run discovers the models of this machine once, when it first calls a model', async () => {
  const told: string[] = []
  const models: ModelAccess = {
    ...noServices.models,
    async *complete() {
      told.push('asked')
      yield* []
    },
    async capabilities() {
      told.push('asked')
      return []
    },
  }
  const looking = discoverOnFirstUse(models, async () => void told.push('looked'))
  assert.deepEqual(told, [])
  const request = { body: { model: 'x', messages: [] }, signal: new AbortController().signal }
  await Promise.all([collect(looking.complete(request)), collect(looking.complete(request))])
  await looking.capabilities('x', request.signal)
  assert.deepEqual(told, ['looked', 'asked', 'asked', 'asked'])
})
