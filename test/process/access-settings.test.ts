// Access settings from an operator's view: warnings at the start, settings that prevent a start, and variables that are never read.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { call } from '../helpers/http.ts'
import { MAIN, runProcess, serve } from '../helpers/process.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

let folder: string
before(() => {
  folder = temporaryFolder()
})
after(() => rmSync(folder, { recursive: true, force: true }))

let folders = 0
const newFolder = () => join(folder, `data-${++folders}`)

interface Line {
  level: string | number
  msg: string
}

/** The log lines of a process so far. */
function logged(stderr: string): Line[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
}

const SERVER_TOKEN = 'a-token-of-the-deployment-0123456789'
/** Deployment tools set these variables in containers. */
const UNREAD = { AUTH_PROVIDER: 'supabase', SERVER_AUTH_TOKEN: SERVER_TOKEN }

/** The answers of a server to all kinds of callers. */
async function answers(environment: Record<string, string>) {
  await using server = await serve(newFolder(), environment)
  const away = { Origin: 'http://elsewhere.example' }
  const asked: [string, Record<string, string>][] = [
    ['/api/workflows', {}],
    ['/api/workflows', away],
    ['/api/workflows', { ...away, Authorization: `Bearer ${SERVER_TOKEN}` }],
    ['/api/workflows', { Authorization: `Bearer ${SERVER_TOKEN}` }],
    ['/api/workflows', { Authorization: 'Bearer wrong' }],
    ['/api/config', away],
    ['/mcp', away],
    ['/admin/collections', {}],
  ]
  const all: [number, string][] = []
  for (const [path, headers] of asked) {
    const { status, text } = await call(server, 'GET', path, { headers })
    all.push([status, text])
  }
  return { all, stderr: server.stderr() }
}

describe('AUTH_PROVIDER and SERVER_AUTH_TOKEN', () => {
  test('have no effect on the answers and logs of a server', async () => {
    const log = { SVC_LOG_LEVEL: 'warn' }
    const plain = await answers(log)
    assert.deepEqual(
      plain.all.map(([status]) => status),
      [200, 401, 401, 200, 200, 200, 401, 200],
    )
    assert.equal(plain.all[1]![1], '{"error":"Remote access requires authentication"}')
    assert.deepEqual(await answers({ ...log, ...UNREAD }), plain)
    assert.deepEqual(await answers({ ...log, AUTH_PROVIDER: 'none', SERVER_AUTH_TOKEN: '' }), plain)
  })

  test('are named only in the sources of the deployment helpers', () => {
    const root = join(import.meta.dirname, '../../src')
    const named = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => /AUTH_PROVIDER|SERVER_AUTH_TOKEN/.test(readFileSync(path, 'utf8')))
      .map((path) => relative(root, path))
    assert.deepEqual(
      named.filter((path) => !path.startsWith('deploy/')),
      [],
    )
  })
})

describe('a start', () => {
  test('that trusts all callers on a reachable address warns loudly', async () => {
    const environment = {
      SVC_DATA_DIR: newFolder(),
      SVC_LOG_LEVEL: 'warn',
      SVC_TRUST_LOCAL_NETWORKS: '172.16.0.0/12, 0.0.0.0/0',
    }
    await using running = runProcess(MAIN, ['serve', '--host', '0.0.0.0', '--port', '0'], environment)
    await until('the server to listen', () => /listens on/.test(running.stdout()))
    const lines = await until('its warnings', () => {
      const found = logged(running.stderr())
      return found.length > 0 && found
    })
    const loud = lines.filter(({ msg }) => msg.includes('EVERYBODY WHO REACHES THIS PORT IS THE ADMINISTRATOR'))
    assert.equal(loud.length, 1)
    assert.match(loud[0]!.msg, /^SVC_TRUST_LOCAL_NETWORKS holds 0\.0\.0\.0\/0 and the server listens on 0\.0\.0\.0: /)
  })

  test('with half of an identity provider, or a short token of bridges, warns and stays in Local mode', async () => {
    const environment = { SVC_LOG_LEVEL: 'warn', IDP_URL: 'https://idp.example', SVC_INTEGRATION_TOKEN: 'short' }
    await using server = await serve(newFolder(), environment)
    assert.equal((await call(server, 'GET', '/api/workflows')).status, 200)
    const config = await call<{ auth_mode: string }>(server, 'GET', '/api/config')
    assert.equal(config.body.auth_mode, 'local')
    const said = await until('both warnings', () => {
      const lines = logged(server.stderr())
      return lines.length >= 2 && lines.map(({ msg }) => msg)
    })
    assert.deepEqual(said.map((msg) => msg.split(' ')[0]).sort(), ['IDP_URL', 'SVC_INTEGRATION_TOKEN'])
  })

  test('with invalid settings fails and names each of them, without secrets', async () => {
    const environment = {
      SVC_DATA_DIR: newFolder(),
      SVC_TRUSTED_PROXIES: 'proxy',
      SVC_ALLOWED_ORIGINS: '*, null',
      SVC_ALLOWED_HOSTS: 'box:80',
      SVC_LOCAL_CLIENT_TOKEN: 'guessable',
      SVC_TRUST_LOCALHOST: 'perhaps',
    }
    await using running = runProcess(MAIN, ['serve', '--port', '0'], environment)
    const { code, stdout, stderr } = await running.ended()
    assert.deepEqual([code, stdout], [1, ''])
    const count = (name: string) => stderr.split(`${name} must be`).length - 1
    const names = Object.keys(environment).filter((name) => name !== 'SVC_DATA_DIR')
    assert.deepEqual(names.map(count), [1, 2, 1, 1, 1])
    assert.ok(!stderr.includes('guessable'))
  })
})
