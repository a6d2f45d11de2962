// hash.*: digests, checksums and content ids. Texts are hashed as their UTF-8 bytes.
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { createEnumType } from '../engine/node-api/values/type-metadata.ts'
import { cryptoLibrary, zlibLibrary } from './shared/lazy-libraries.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'
import { abbreviate } from './shared/value-limits.ts'
import { toCanonicalText } from './shared/value-operations.ts'

type Algorithm = 'sha256' | 'sha512' | 'sha1' | 'md5'
type Encoding = 'hex' | 'base64' | 'base64url'

const textProperty = () => requiredProperty('text', 'str', 'The text.')
const resultOutput = () => valueOutput('output', 'str')
const algorithmProperty = () =>
  optionalProperty(
    'algorithm',
    createEnumType('sha256', 'sha512', 'sha1', 'md5'),
    'The algorithm. Use SHA-1 and MD5 only for systems that still need them.',
    {
      default: 'sha256',
    },
  )
const encodingProperty = () =>
  optionalProperty('encoding', createEnumType('hex', 'base64', 'base64url'), 'How the bytes are written.', {
    default: 'hex',
  })

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
    throw new NodeError(`The namespace "${abbreviate(namespace)}" is neither a UUID nor one of ${known}.`, 'bad_input')
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

type DigestInputs = {
  text: string
  algorithm: Algorithm
  encoding: Encoding
}

export const hashNodes: NodeType[] = [
  {
    node_type: 'hash.Digest',
    title: 'Digest',
    description: 'Gives the digest of a text. The same text always has the same digest; another text has another one.',
    properties: [textProperty(), algorithmProperty(), encodingProperty()],
    cost: 2,
    outputs: [resultOutput()],
    run: ({ text, algorithm, encoding }: DigestInputs) => ({
      output: cryptoLibrary().createHash(algorithm).update(text).digest(encoding),
    }),
  },
  {
    node_type: 'hash.Hmac',
    title: 'Signature',
    description: 'Signs a text with a key (HMAC, RFC 2104), as webhooks require.',
    properties: [
      textProperty(),
      requiredProperty('key', 'str', 'The secret key.'),
      algorithmProperty(),
      encodingProperty(),
    ],
    cost: 2,
    outputs: [resultOutput()],
    run({ text, key, algorithm, encoding }: DigestInputs & { key: string }) {
      if (key === '')
        throw new NodeError('The key is empty, so anyone could make the signature. Set a key.', 'bad_input')
      return { output: cryptoLibrary().createHmac(algorithm, key).update(text).digest(encoding) }
    },
  },
  {
    node_type: 'hash.ContentId',
    title: 'Content id',
    description:
      'Gives an id of any value by its content: the SHA-256 of its canonical JSON (RFC 8785). The order of keys does not matter.',
    properties: [optionalProperty('value', 'any', 'The value.')],
    outputs: [resultOutput()],
    run: ({ value }) => ({ output: cryptoLibrary().createHash('sha256').update(toCanonicalText(value)).digest('hex') }),
  },
  {
    node_type: 'hash.Checksum',
    title: 'Checksum',
    description:
      'Gives the CRC-32 of a text, as a number and as 8 hexadecimal digits. It detects accidental changes, not forgery.',
    properties: [textProperty()],
    cost: 2,
    outputs: [valueOutput('output', 'int'), valueOutput('hex', 'str')],
    run({ text }: { text: string }) {
      const sum = zlibLibrary().crc32(text)
      return { output: sum, hex: sum.toString(16).padStart(8, '0') }
    },
  },
  {
    node_type: 'hash.Uuid',
    title: 'UUID of a name',
    description: 'Gives the UUID (version 5) of a name in a namespace. The same name always has the same UUID.',
    properties: [
      requiredProperty('name', 'str', 'The name.'),
      optionalProperty('namespace', 'str', '`dns`, `url`, `oid`, `x500`, or a UUID of your own.', { default: 'url' }),
    ],
    cost: 2,
    outputs: [resultOutput()],
    run: ({ name, namespace }: { name: string; namespace: string }) => ({ output: uuid5(name, namespace) }),
  },
]
