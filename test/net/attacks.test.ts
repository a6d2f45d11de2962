// The written list of ways to reach what must not be reached: spelled out in a URL, behind a name, behind a redirect. A server
// on every address of this machine counts the connections that come through: none.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { createOutgoingHttpClient } from '../../src/net/outgoing/http-client.ts'
import { scaled } from '../helpers/scale.ts'
import { errorOf, httpServer, localHttp, request, type TestServer, textOf } from './servers.ts'

/** Hosts as an attacker may write them. */
const HOSTS: Record<string, string> = {
  loopback: '127.0.0.1',
  'the end of loopback': '127.255.255.254',
  'a short form': '127.1',
  'three parts': '127.0.1',
  decimal: '2130706433',
  hexadecimal: '0x7f000001',
  'hexadecimal parts': '0x7f.1',
  octal: '0177.0.0.1',
  'octal in one': '017700000001',
  'leading zeros': '0000177.0.0.1',
  'a dot at the end': '127.0.0.1.',
  'nothing at all': '0',
  unspecified: '0.0.0.0',
  'a name for it': 'localhost',
  'in capitals': 'LOCALHOST',
  'the name with a dot': 'localhost.',
  'below the name': 'anything.localhost',
  'IPv6 loopback': '[::1]',
  'IPv6 loopback in full': '[0:0:0:0:0:0:0:1]',
  'IPv6 unspecified': '[::]',
  'IPv4-mapped': '[::ffff:127.0.0.1]',
  'IPv4-mapped in hexadecimal': '[::FFFF:7f00:1]',
  'IPv4-mapped in full': '[0:0:0:0:0:ffff:7f00:0001]',
  'IPv4-mapped unspecified': '[::ffff:0.0.0.0]',
  'IPv4-compatible': '[::127.0.0.1]',
  'IPv4-translated': '[::ffff:0:127.0.0.1]',
  NAT64: '[64:ff9b::127.0.0.1]',
  'NAT64 in hexadecimal': '[64:ff9b::7f00:1]',
  'NAT64 of a metadata service': '[64:ff9b::169.254.169.254]',
  'local NAT64': '[64:ff9b:1::7f00:1]',
  '6to4': '[2002:7f00:1::]',
  '6to4 of a private network': '[2002:a00:1::1]',
  Teredo: '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
  'circled digits': '①②⑦.⓪.⓪.①',
  'fullwidth digits': '１２７.０.０.１',
  'ideographic dots': '127。0。0。1',
  'fullwidth dots': '127．0．0．1',
  'halfwidth dots': '127｡0｡0｡1',
  'percent-encoded': '%31%32%37.0.0.1',
  'percent-encoded name': 'loc%61lhost',
  'fullwidth name': 'ｌｏｃａｌｈｏｓｔ',
  'a soft hyphen in the name': 'local\u00adhost',
  'a tab in the middle': '127.0.\t0.1',
  'a line break in the middle': '127.0.\n0.1',
  'behind a user name': 'example.org@127.0.0.1',
  'behind a user name and port': 'example.org:80@127.0.0.1',
  'metadata of clouds': '169.254.169.254',
  'metadata in decimal': '2852039166',
  'metadata over IPv6': '[fd00:ec2::254]',
  'metadata of one cloud': '168.63.129.16',
  'metadata of another': '100.100.100.200',
  'private 10': '10.0.0.1',
  'private 172': '172.16.0.1',
  'private 192': '192.168.0.1',
  'private, IPv4-mapped': '[::ffff:192.168.0.1]',
  'shared by carriers': '100.64.0.1',
  'link-local': '169.254.0.1',
  'IPv6 link-local': '[fe80::1]',
  'IPv6 site-local': '[fec0::1]',
  'IPv6 unique local': '[fc00::1]',
  benchmarks: '198.18.0.1',
  'IPv6 benchmarks': '[2001:2::1]',
  'documentation 1': '192.0.2.1',
  'documentation 2': '198.51.100.1',
  'documentation 3': '203.0.113.1',
  'IPv6 documentation': '[2001:db8::1]',
  'later IPv6 documentation': '[3fff::1]',
  'protocol assignments': '192.0.0.1',
  multicast: '224.0.0.1',
  'IPv6 multicast': '[ff02::1]',
  broadcast: '255.255.255.255',
  reserved: '240.0.0.1',
  'IPv6 discard': '[100::1]',
  'IPv6 that nobody has': '[4000::1]',
}

/** Whole URLs that are none for HTTP; PORT is the counting server's. */
const URLS: Record<string, string> = {
  file: 'file:///etc/passwd',
  'file on a host': 'file://127.0.0.1:PORT/etc/passwd',
  data: 'data:text/plain,x',
  ftp: 'ftp://127.0.0.1:PORT/',
  blob: 'blob:http://127.0.0.1:PORT/1',
  gopher: 'gopher://127.0.0.1:PORT/_x',
  'a socket': 'ws://127.0.0.1:PORT/',
  script: 'javascript:fetch("http://127.0.0.1:PORT")',
  'a zone': 'http://[fe80::1%25lo]:PORT/',
  'a bare zone': 'http://[::1%lo]:PORT/',
  'no closing bracket': 'http://[::1:PORT/',
  'no host': 'http://',
  'too large a number': 'http://4294967296:PORT/',
  'too large a part': 'http://256.0.0.1:PORT/',
  'a space': 'http://127.0.0.1 :PORT/',
  'a line break encoded': 'http://127.0.0.1%0d%0a:PORT/',
  'no such port': 'http://127.0.0.1:65536/',
  'a bad user name': 'http://%zz@example.org:PORT/',
  'a very long one': `http://127.0.0.1:PORT/${'x'.repeat(20_000)}`,
}

/** Other ways to write the same URL: the parser makes one of them. */
const WRITTEN: Record<string, (port: number) => string> = {
  backslashes: (port) => `http:\\\\127.0.0.1:${port}\\`,
  'no slashes': (port) => `http:127.0.0.1:${port}/`,
  'many slashes': (port) => `http://///127.0.0.1:${port}/`,
  capitals: (port) => `HTTP://127.0.0.1:${port}/`,
  'spaces around': (port) => `  http://127.0.0.1:${port}/  `,
  'the other host in the fragment': (port) => `http://127.0.0.1:${port}#@example.org/`,
  'the other host in the path': (port) => `http://127.0.0.1:${port}\\@example.org/`,
  https: (port) => `https://127.0.0.1:${port}/`,
}

const numberOf = (bytes: number[]) => bytes.reduce((sum, byte) => sum * 256 + byte, 0)
const hex = (bytes: number[]) => numberOf(bytes).toString(16)

/** Ways to write an IPv4 address in a URL, of four bytes each. */
const SPELLINGS: ((bytes: number[]) => string)[] = [
  (bytes) => bytes.join('.'),
  (bytes) => `${bytes.join('.')}.`,
  (bytes) => String(numberOf(bytes)),
  (bytes) => `0x${hex(bytes)}`,
  (bytes) => `0${numberOf(bytes).toString(8)}`,
  (bytes) => bytes.map((byte) => `0x${byte.toString(16)}`).join('.'),
  (bytes) => bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
  (bytes) => `${bytes[0]}.${numberOf(bytes.slice(1))}`,
  (bytes) => `${bytes[0]}.${bytes[1]}.0x${hex(bytes.slice(2))}`,
  (bytes) => bytes.join('。'),
  (bytes) => bytes.join('.').replaceAll(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
  (bytes) => bytes.join('.').replaceAll(/\d/g, (digit) => `%3${digit}`),
  (bytes) => `[::ffff:${bytes.join('.')}]`,
  (bytes) => `[::FFFF:${hex(bytes.slice(0, 2))}:${hex(bytes.slice(2))}]`,
  (bytes) => `[::${bytes.join('.')}]`,
  (bytes) => `[64:ff9b::${bytes.join('.')}]`,
  (bytes) => `[64:ff9b:1::${bytes.join('.')}]`,
  (bytes) => `[2002:${hex(bytes.slice(0, 2))}:${hex(bytes.slice(2))}::1]`,
]

/** Addresses to which names may resolve. */
const ADDRESSES = [
  '127.0.0.1',
  '0.0.0.0',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fe80::1%lo',
  '169.254.169.254',
  'fd00:ec2::254',
  '10.0.0.1',
  'not an address',
  '127.1',
  '',
]

let counting: TestServer
before(async () => {
  counting = await httpServer((_request, response) => response.end('reached'), '::')
})
after(() => counting[Symbol.asyncDispose]())

function refusedUrls(port: number): [string, string][] {
  return [
    ...Object.entries(HOSTS).map(([what, host]): [string, string] => [what, `http://${host}:${port}/`]),
    ...Object.entries(WRITTEN).map(([what, write]): [string, string] => [what, write(port)]),
  ]
}

describe('in a URL', () => {
  for (const what of [...Object.keys(HOSTS), ...Object.keys(WRITTEN)]) {
    test(`${what} is refused`, async () => {
      await using http = localHttp({ allow: [] })
      const url = Object.fromEntries(refusedUrls(counting.port))[what]!
      const error = await errorOf(http.send(request(url)))
      assert.deepEqual([error.type, counting.connections], ['address_refused', 0])
    })
  }

  for (const [what, url] of Object.entries(URLS)) {
    test(`${what} is no URL for HTTP`, async () => {
      await using http = localHttp()
      const error = await errorOf(http.send(request(url.replace('PORT', String(counting.port)))))
      assert.deepEqual([error.type, counting.connections], ['bad_url', 0])
    })
  }

  test('addresses that are not public are refused, however they are spelled', async () => {
    const starts = [[127], [10], [0], [169, 254], [192, 168], [172, 16], [100, 64], [198, 18], [224], [255]]
    const address = fc
      .tuple(fc.constantFrom(...starts), fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 }))
      .map(([start, rest]) => [...start, ...rest].slice(0, 4))
    const spelling = fc.constantFrom(...SPELLINGS)
    await using http = localHttp({ allow: [] })
    await fc.assert(
      fc.asyncProperty(address, spelling, async (bytes, spell) => {
        const error = await errorOf(http.send(request(`http://${spell(bytes)}:${counting.port}/`)))
        assert.deepEqual([error.type, counting.connections], ['address_refused', 0])
      }),
      { numRuns: scaled(300) },
    )
  })

  test('ports of other services are refused, unless the list names them', async () => {
    await using http = localHttp({ allow: ['127.0.0.1', '127.0.0.1:6000'] })
    for (const port of [0, 22, 25, 6667]) {
      const error = await errorOf(http.send(request(`http://127.0.0.1:${port}/`)))
      assert.deepEqual([error.type, counting.connections], ['address_refused', 0])
    }
    assert.notEqual((await errorOf(http.send(request('http://127.0.0.1:6000/')))).type, 'address_refused')
  })
})

describe('behind a name', () => {
  for (const address of ADDRESSES) {
    test(`that resolves to "${address}" it is refused`, async () => {
      await using http = localHttp({ allow: [], lookup: async () => [address] })
      const error = await errorOf(http.send(request(`http://inside.example:${counting.port}/`)))
      assert.deepEqual([error.type, counting.connections], ['address_refused', 0])
      assert.ok(address === '' || !error.message.includes(address), 'the address stays unsaid')
    })
  }

  test('that resolves to all addresses of this machine they are refused', async () => {
    const own = Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address))
    const inside = own.filter((address) => /^(10|127|172|192|::1|f)/.test(address))
    await using http = localHttp({ allow: [], lookup: async () => inside })
    const error = await errorOf(http.send(request(`http://inside.example:${counting.port}/`)))
    assert.deepEqual([error.type, counting.connections], ['address_refused', 0])
  })

  test('localhost is this machine, whatever the look-up would say', async () => {
    await using http = localHttp({ allow: [], lookup: async () => ['192.0.43.8'] })
    const error = await errorOf(http.send(request(`http://localhost:${counting.port}/`)))
    assert.deepEqual([error.type, counting.connections], ['address_refused', 0])
  })

  test('of several addresses only those are tried that may be reached', async () => {
    await using inside = await httpServer((_request, response) => response.end('inside'), '127.0.0.2')
    await using http = localHttp({ lookup: async () => ['127.0.0.2', '::1', '127.0.0.1'] })
    const error = await errorOf(http.send(request(`http://mixed.example:${inside.port}/`)))
    assert.deepEqual([error.type, inside.connections], ['connection_failed', 0])
  })

  test('that means something else the second time it is refused the second time', async () => {
    await using outside = await httpServer((_request, response) => {
      response.setHeader('connection', 'close')
      response.end('outside')
    })
    await using inside = createServer((_request, response) => response.end('inside'))
    let reached = 0
    inside.on('connection', () => reached++)
    await new Promise<void>((resolve) => inside.listen(outside.port, '127.0.0.2', resolve))
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    let asked = 0
    await using http = localHttp({ lookup: async () => answers[asked++]! })
    const url = `http://rebinding.example:${outside.port}/`
    assert.equal(textOf(await http.send(request(url))), 'outside')
    const error = await errorOf(http.send(request(url)))
    assert.deepEqual([error.type, reached, asked], ['address_refused', 0, 2])
  })
})

describe('behind a redirect', () => {
  // A line break would end the header.
  for (const [what, host] of Object.entries(HOSTS).filter(([, host]) => !host.includes('\n'))) {
    test(`${what} is refused`, async () => {
      const location = Buffer.from(`http://${host}:${counting.port}/`).toString('latin1')
      await using outside = await httpServer((_request, response) => response.writeHead(302, { location }).end())
      await using http = localHttp({ allow: [`127.0.0.1:${outside.port}`] })
      const error = await errorOf(http.send(request(outside.url)))
      assert.deepEqual([error.type, outside.connections, counting.connections], ['address_refused', 1, 0])
    })
  }

  test('other schemes are refused', async () => {
    for (const location of ['file:///etc/passwd', 'ftp://127.0.0.1/', 'data:,x', 'http://[::1']) {
      await using outside = await httpServer((_request, response) => response.writeHead(307, { location }).end())
      await using http = localHttp()
      assert.equal((await errorOf(http.send(request(outside.url)))).type, 'bad_url')
    }
  })

  test('a name is looked up for the redirect, and refused there', async () => {
    await using outside = await httpServer((_request, response) => {
      response.writeHead(308, { location: `http://inside.example:${counting.port}/` }).end()
    })
    await using http = localHttp({ allow: [`127.0.0.1:${outside.port}`], lookup: async () => ['127.0.0.1'] })
    const error = await errorOf(http.send(request(outside.url)))
    assert.deepEqual([error.type, counting.connections], ['address_refused', 0])
  })
})

test('proxies of the environment are not asked', async () => {
  await using server = await httpServer((_request, response) => response.end('direct'))
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']
  for (const name of names) process.env[name] = `http://127.0.0.1:${counting.port}`
  try {
    await using http = localHttp()
    assert.equal(textOf(await http.send(request(server.url))), 'direct')
    assert.equal(counting.connections, 0)
  } finally {
    for (const name of names) delete process.env[name]
  }
})

test('a host that holds a secret is not shown', async () => {
  await using http = localHttp({ lookup: async () => ['10.0.0.1'] })
  const error = await errorOf(http.send(request('http://hunter2.example/', { secrets: ['hunter2'] })))
  assert.equal(error.type, 'address_refused')
  assert.match(error.message, /"\*\*\*\.example"/)
  assert.doesNotMatch(error.message + String(error.cause), /hunter2/)
})

test('a message says what allows it', async () => {
  await using http = createOutgoingHttpClient({ allow: [] })
  const error = await errorOf(http.send(request('http://localhost:8080/')))
  assert.match(error.message, /"localhost" are refused.*SVC_HTTP_NODE_ALLOW=localhost:8080$/)
  assert.match(String(error.cause), /127\.0\.0\.1/)
})
