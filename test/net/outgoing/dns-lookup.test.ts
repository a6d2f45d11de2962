// How names of callers are looked up: beside each other, with the files of the system, and within a time.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { lookup as systemLookup } from 'node:dns/promises'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createDnsLookup } from '../../../src/net/outgoing/dns-lookup.ts'
import { listCandidateNames, parseHostsFile, parseResolvConf } from '../../../src/net/outgoing/hosts-and-resolv-conf.ts'
import { until } from '../../engine/kit.ts'
import { nameServer } from '../name-server.ts'
import { errorOf, httpServer, localHttp, request } from '../servers.ts'

const NO_FILE = '/nowhere/at/all'
const FILES = { hosts_path: NO_FILE, resolv_conf_path: NO_FILE }
const FOUR = [127, 0, 0, 1]
const SIX = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail('the name was found'),
    (error: NodeJS.ErrnoException) => error.code,
  )

async function textFile(text: string) {
  const path = join(tmpdir(), `names-${process.pid}-${crypto.randomUUID()}`)
  await writeFile(path, text)
  return { path, [Symbol.asyncDispose]: () => rm(path) }
}

test('names that no server answers keep no other look-up waiting, and no thread busy', async () => {
  await using server = await nameServer(({ name, type }) =>
    name.startsWith('slow') ? 'held' : type === 'A' ? FOUR : 'no address',
  )
  await using web = await httpServer((_asked, response) => response.end('here'))
  const lookup = createDnsLookup({ ...FILES, servers: [server.address], timeout_ms: 60_000 })
  await using http = localHttp({ lookup })
  const names = Array.from({ length: 16 }, (_, index) => `slow${index}.example`)
  let ended = 0
  const slow = names.map((name) =>
    errorOf(http.send(request(`http://${name}/`))).then((error) => {
      ended++
      return error.type
    }),
  )
  await until(() => names.every((name) => server.asked.some((question) => question.name === name)))
  const answer = await http.send(request(`http://quick.example:${web.port}/`))
  assert.equal(Buffer.from(answer.body).toString(), 'here')
  assert.ok((await systemLookup('localhost', { all: true })).length > 0)
  assert.ok((await readFile(import.meta.filename)).length > 0)
  assert.equal(ended, 0)
  server.release()
  assert.deepEqual(new Set(await Promise.all(slow)), new Set(['name_not_found']))
})

test('a name that is kept waiting sends nobody else to a name server that knows fewer names', async () => {
  await using first = await nameServer(({ name, type }) => {
    if (name.startsWith('slow')) return 'held'
    return type === 'A' ? FOUR : 'no address'
  })
  await using second = await nameServer(() => 'no such name')
  const lookup = createDnsLookup({ ...FILES, servers: [first.address, second.address], timeout_ms: 20_000 })
  // A name server that is known to be quick is not waited for for long.
  for (let at = 0; at < 10; at++) await lookup(`quick${at}.example`)
  assert.equal(await codeOf(lookup('slow.example')), 'ENOTFOUND')
  for (let at = 0; at < 10; at++) assert.deepEqual(await lookup(`other${at}.example`), ['127.0.0.1'])
  assert.deepEqual(new Set(second.asked.map(({ name }) => name)), new Set(['slow.example']))
})

test('look-ups that begin together share sockets', async () => {
  await using server = await nameServer(() => 'held')
  const lookup = createDnsLookup({ ...FILES, servers: [server.address], timeout_ms: 60_000 })
  const slow = Array.from({ length: 50 }, (_, index) => codeOf(lookup(`slow${index}.example`)))
  await until(() => new Set(server.asked.map(({ name }) => name)).size === slow.length)
  assert.ok(server.ports.size < 10, `${server.ports.size} sockets`)
  server.release()
  assert.deepEqual(new Set(await Promise.all(slow)), new Set(['ENOTFOUND']))
})

describe('a look-up', () => {
  test('gives IPv4 addresses before IPv6 ones', async () => {
    await using server = await nameServer(({ type }) => (type === 'A' ? FOUR : SIX))
    const lookup = createDnsLookup({ ...FILES, servers: [server.address] })
    assert.deepEqual(await lookup('both.example'), ['127.0.0.1', '2001:db8::7'])
  })

  test('gives what there is of a name with addresses of one kind', async () => {
    await using server = await nameServer(({ type }) => (type === 'A' ? 'no address' : SIX))
    const lookup = createDnsLookup({ ...FILES, servers: [server.address] })
    assert.deepEqual(await lookup('six.example'), ['2001:db8::7'])
  })

  test('asks nobody for an address', async () => {
    await using server = await nameServer(() => 'failure')
    const lookup = createDnsLookup({ ...FILES, servers: [server.address] })
    assert.deepEqual([await lookup('10.1.2.3'), await lookup('::1')], [['10.1.2.3'], ['::1']])
    assert.equal(server.asked.length, 0)
  })

  test('fails with a code', async () => {
    const replies = { none: 'no such name', empty: 'no address', broken: 'failure', refused: 'refused' } as const
    await using server = await nameServer(({ name }) => replies[name.split('.')[0] as keyof typeof replies])
    const lookup = createDnsLookup({ ...FILES, servers: [server.address] })
    assert.equal(await codeOf(lookup('none.example')), 'ENOTFOUND')
    assert.equal(await codeOf(lookup('empty.example')), 'ENODATA')
    assert.equal(await codeOf(lookup('broken.example')), 'ESERVFAIL')
    assert.equal(await codeOf(lookup('refused.example')), 'ESERVFAIL')
    assert.equal(await codeOf(lookup(`${'x'.repeat(64)}.example`)), 'ENOTFOUND')
  })

  for (const reply of ['failure', 'refused'] as const)
    test(`asks the next name server after the reply "${reply}"`, async () => {
      await using first = await nameServer(() => reply)
      await using second = await nameServer(({ name, type }) => {
        if (name !== 'some.example') return 'no such name'
        return type === 'A' ? FOUR : 'no address'
      })
      const lookup = createDnsLookup({ ...FILES, servers: [first.address, second.address] })
      assert.deepEqual(await lookup('some.example'), ['127.0.0.1'])
      assert.equal(await codeOf(lookup('other.example')), 'ENOTFOUND')
      const none = createDnsLookup({ ...FILES, servers: [first.address, first.address] })
      assert.equal(await codeOf(none('some.example')), 'ESERVFAIL')
    })

  test('asks the next name server where one is silent or not there', async () => {
    await using silent = await nameServer(() => 'held')
    const away = await nameServer(() => 'held')
    await away[Symbol.asyncDispose]()
    await using last = await nameServer(({ type }) => (type === 'A' ? FOUR : 'no address'))
    const lookup = createDnsLookup({
      ...FILES,
      servers: [away.address, silent.address, last.address],
      timeout_ms: 20_000,
    })
    assert.deepEqual(await lookup('some.example'), ['127.0.0.1'])
  })

  test('has one time for all name servers', async () => {
    await using first = await nameServer(() => 'failure')
    await using second = await nameServer(() => 'held')
    const lookup = createDnsLookup({ ...FILES, servers: [first.address, second.address], timeout_ms: 100 })
    assert.equal(await codeOf(lookup('slow.example')), 'ETIMEOUT')
  })

  test('is given up when its time is over, with a message that says so', async () => {
    await using server = await nameServer(() => 'held')
    const lookup = createDnsLookup({ ...FILES, servers: [server.address], timeout_ms: 50 })
    assert.equal(await codeOf(lookup('slow.example')), 'ETIMEOUT')
    await using http = localHttp({ lookup })
    const { type, message } = await errorOf(http.send(request('http://slow.example/')))
    const text = '"slow.example" could not be looked up just now. Try again later.'
    assert.deepEqual([type, message], ['connection_failed', text])
  })

  test('says nothing of ports where there is no name server', async () => {
    const server = await nameServer(() => 'held')
    await server[Symbol.asyncDispose]()
    const lookup = createDnsLookup({ ...FILES, servers: [server.address] })
    assert.match((await codeOf(lookup('some.example')))!, /^(ESERVFAIL|ETIMEOUT)$/)
  })

  test('finds names of the hosts file, as it is at the time', async () => {
    await using server = await nameServer(() => 'no such name')
    await using hosts = await textFile('::2 web\n10.0.0.1 Web web.lan # the page\n')
    const lookup = createDnsLookup({ ...FILES, hosts_path: hosts.path, servers: [server.address] })
    assert.deepEqual([await lookup('web'), await lookup('WEB.lan')], [['10.0.0.1', '::2'], ['10.0.0.1']])
    assert.equal(server.asked.length, 0)
    await writeFile(hosts.path, '10.0.0.22 web\n')
    assert.deepEqual(await lookup('web'), ['10.0.0.22'])
    assert.equal(await codeOf(lookup('web.lan')), 'ENOTFOUND')
  })

  test('completes a name with the domains of resolv.conf', async () => {
    await using server = await nameServer(({ name, type }) => {
      if (type === 'AAAA') return 'no address'
      return name === 'db.two.lan' || name === 'bare' ? FOUR : 'no such name'
    })
    await using conf = await textFile('search one.lan two.lan\n')
    const lookup = createDnsLookup({ ...FILES, resolv_conf_path: conf.path, servers: [server.address] })
    assert.deepEqual(await lookup('db'), ['127.0.0.1'])
    assert.deepEqual([...new Set(server.asked.map(({ name }) => name))], ['db.one.lan', 'db.two.lan'])
    assert.deepEqual(await lookup('bare'), ['127.0.0.1'])
  })
})

/** Reads a file while the process can open none, and again once it can. */
const READS_WITHOUT_FILES = `
  const { closeSync, openSync } = await import('node:fs')
  const { ReloadingFile } = await import(process.argv[1])
  const file = new ReloadingFile(process.argv[2], (text) => text)
  const opened = []
  try {
    for (;;) opened.push(openSync('/dev/null'))
  } catch {}
  const first = await file.read()
  for (const one of opened) closeSync(one)
  console.log(JSON.stringify([first, await file.read()]))
`

describe('files of the system', () => {
  test('a file that could not be opened is read as soon as it can be', async () => {
    await using hosts = await textFile('10.0.0.1 web')
    const names = new URL('../../../src/net/outgoing/hosts-and-resolv-conf.ts', import.meta.url).href
    const node = [process.execPath, '--input-type=module', '-e', READS_WITHOUT_FILES, names, hosts.path]
    const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -n 100 && exec "$@"', 'sh', ...node])
    assert.deepEqual(JSON.parse(stdout), ['', '10.0.0.1 web'])
  })

  test('hosts: lines that hold no address are left out', () => {
    const hosts = parseHostsFile('# nothing\nfe80::1%lo0 near\r\nsomething else\n1.2.3.4\n\t1.2.3.5\ta\tb a\n')
    assert.deepEqual(Object.fromEntries(hosts), { near: ['fe80::1%lo0'], a: ['1.2.3.5'], b: ['1.2.3.5'] })
  })

  test('resolv.conf: the last domains and the last ndots count', () => {
    const text =
      'domain one.lan\n; search no\nsearch Two.lan. three.lan\noptions rotate ndots:3\noptions ndots:5 edns0\n'
    assert.deepEqual(parseResolvConf(text), { search: ['two.lan', 'three.lan'], ndots: 5 })
    assert.deepEqual(parseResolvConf('options ndots:99\nsearch .\n'), { search: [], ndots: 15 })
    assert.deepEqual(parseResolvConf(''), { search: [], ndots: 1 })
  })

  test('names with enough dots are asked for as they are first', () => {
    assert.deepEqual(listCandidateNames('a.b', { search: ['x', 'y'], ndots: 1 }), ['a.b', 'a.b.x', 'a.b.y'])
    assert.deepEqual(listCandidateNames('a.b', { search: ['x'], ndots: 2 }), ['a.b.x', 'a.b'])
    assert.deepEqual(listCandidateNames('a', { search: [], ndots: 1 }), ['a'])
  })
})
