// hash.*: digests, checksums and names that follow from their content. Texts are taken as their UTF-8 bytes.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { option, output, required } from './define.ts'
import { cryptoLibrary, zlibLibrary } from './libraries.ts'
import { shown } from './limits.ts'
import { identity } from './values.ts'

type Algorithm = 'sha256' | 'sha512' | 'sha1' | 'md5'
type Encoding = 'hex' | 'base64' | 'base64url'

const text = () => required('text', 'str', 'The text.')
const result = () => output('output', 'str')
const algorithm = () =>
  option('algorithm', oneOf('sha256', 'sha512', 'sha1', 'md5'), 'SHA-1 and MD5 only for what still asks for them.', {
    default: 'sha256',
  })
const encoding = () =>
  option('encoding', oneOf('hex', 'base64', 'base64url'), 'How the bytes are written.', { default: 'hex' })

/** The namespaces of RFC 9562 §6.6. */
const NAMESPACES: Readonly<Record<string, string>> = {
  dns: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  url: '6ba7b811-9dad-11d1-80b4-00c04fd430c8',
  oid: '6ba7b812-9dad-11d1-80b4-00c04fd430c8',
  x500: '6ba7b814-9dad-11d1-80b4-00c04fd430c8',
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function namespaceBytes(namespace: string): Buffer {
  const uuid = Object.hasOwn(NAMESPACES, namespace) ? NAMESPACES[namespace]! : namespace
  if (!UUID.test(uuid)) {
    const known = Object.keys(NAMESPACES).join(', ')
    throw new NodeError(`The namespace "${shown(namespace)}" is no UUID, nor one of ${known}.`, 'bad_input')
  }
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

/** A UUID of version 5 (RFC 9562 §5.5). */
function uuid5(name: string, namespace: string): string {
  const bytes = cryptoLibrary()
    .createHash('sha1')
    .update(namespaceBytes(namespace))
    .update(name)
    .digest()
    .subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x50
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

type Digest = {
  text: string
  algorithm: Algorithm
  encoding: Encoding
}

export const hashNodes: NodeType[] = [
  {
    node_type: 'hash.Digest',
    title: 'Digest',
    description: 'Gives the digest of a text: the same for the same text, and different for any other.',
    properties: [text(), algorithm(), encoding()],
    cost: 2,
    outputs: [result()],
    run: ({ text, algorithm, encoding }: Digest) => ({
      output: cryptoLibrary().createHash(algorithm).update(text).digest(encoding),
    }),
  },
  {
    node_type: 'hash.Hmac',
    title: 'Signature',
    description: 'Signs a text with a key (HMAC, RFC 2104), as web hooks ask for it.',
    properties: [text(), required('key', 'str', 'The secret key.'), algorithm(), encoding()],
    cost: 2,
    outputs: [result()],
    run({ text, key, algorithm, encoding }: Digest & { key: string }) {
      if (key === '') throw new NodeError('The key is empty: anyone could sign like that.', 'bad_input')
      return { output: cryptoLibrary().createHmac(algorithm, key).update(text).digest(encoding) }
    },
  },
  {
    node_type: 'hash.ContentId',
    title: 'Content id',
    description:
      'Gives an id of any value by its content: the SHA-256 of its canonical JSON (RFC 8785), in which the order of keys does not matter.',
    properties: [option('value', 'any', 'The value.')],
    outputs: [result()],
    run: ({ value }) => ({ output: cryptoLibrary().createHash('sha256').update(identity(value)).digest('hex') }),
  },
  {
    node_type: 'hash.Checksum',
    title: 'Checksum',
    description: 'Gives the CRC-32 of a text, as a number and as 8 hexadecimal digits. It notices slips, not forgery.',
    properties: [text()],
    cost: 2,
    outputs: [output('output', 'int'), output('hex', 'str')],
    run({ text }: { text: string }) {
      const sum = zlibLibrary().crc32(text)
      return { output: sum, hex: sum.toString(16).padStart(8, '0') }
    },
  },
  {
    node_type: 'hash.Uuid',
    title: 'UUID of a name',
    description: 'Gives the UUID that belongs to a name in a namespace (version 5): the same for the same name.',
    properties: [
      required('name', 'str', 'The name.'),
      option('namespace', 'str', '`dns`, `url`, `oid`, `x500`, or a UUID of your own.', { default: 'url' }),
    ],
    cost: 2,
    outputs: [result()],
    run: ({ name, namespace }: { name: string; namespace: string }) => ({ output: uuid5(name, namespace) }),
  },
]
