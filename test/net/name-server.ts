// A name server on loopback that answers, refuses and holds back as a test wants.
import { createSocket, type RemoteInfo } from 'node:dgram'

interface Question {
  /** In lower case. */
  readonly name: string
  readonly type: 'A' | 'AAAA'
}

/** The bytes of an address, the code of a failure (RFC 1035 §4.1.1), or 'held': no answer before `release`. */
type Reply = readonly number[] | 'no address' | 'no such name' | 'failure' | 'refused' | 'held'

const CODES = { 'no address': 0, failure: 2, 'no such name': 3, refused: 5 } as const

export interface TestNameServer extends AsyncDisposable {
  /** `address:port`. */
  readonly address: string
  readonly asked: readonly Question[]
  /** The ports that questions came from. */
  readonly ports: ReadonlySet<number>
  /** Says of all names that were held back, and of those that would be from now on, that there are none. */
  release(): void
}

function questionOf(packet: Buffer): Question & { readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = packet[at]!; length > 0; length = packet[at]!) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: packet.readUInt16BE(at + 1) === 1 ? 'A' : 'AAAA',
    end: at + 5,
  }
}

function packetOf(query: Buffer, end: number, reply: Exclude<Reply, 'held'>): Buffer {
  const address = typeof reply === 'string' ? [] : reply
  const code = typeof reply === 'string' ? CODES[reply] : 0
  const head = [query[0]!, query[1]!, 0x81, 0x80 | code, 0, 1, 0, address.length > 0 ? 1 : 0, 0, 0, 0, 0]
  const type = address.length === 4 ? 1 : 28
  const record = address.length > 0 ? [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length, ...address] : []
  return Buffer.concat([Buffer.from(head), query.subarray(12, end), Buffer.from(record)])
}

export async function nameServer(reply: (question: Question) => Reply): Promise<TestNameServer> {
  const socket = createSocket('udp4')
  const asked: Question[] = []
  const ports = new Set<number>()
  const held: (() => void)[] = []
  let released = false
  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    const { end, ...question } = questionOf(query)
    asked.push(question)
    ports.add(from.port)
    const said = reply(question)
    const send = (what: Exclude<Reply, 'held'>) => socket.send(packetOf(query, end, what), from.port, from.address)
    if (said !== 'held') send(said)
    else if (released) send('no such name')
    else held.push(() => send('no such name'))
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    ports,
    release() {
      released = true
      for (const send of held.splice(0)) send()
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}
