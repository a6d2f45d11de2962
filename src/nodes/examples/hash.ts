// Examples of nodes that give digests and ids.
import type { NodeExamples } from './node-example.ts'

export const hashExamples: NodeExamples = {
  'hash.Checksum': { data: { text: 'hello world' }, outputs: { output: 222957957, hex: '0d4a1185' } },
  'hash.ContentId': {
    data: { value: { city: 'Oslo', degrees: -4 } },
    outputs: { output: '3ff109c4ed6cd0814b649c405b0500b09ac043c04e520584bea3be179ef59609' },
  },
  'hash.Digest': {
    data: { text: 'hello world' },
    outputs: { output: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9' },
  },
  'hash.Hmac': {
    data: { text: '{"order": 1042}', key: 'shared-secret', encoding: 'base64' },
    outputs: { output: 'e2xIuXKYeaPtG1CiM0jGBQkfZTzvYAGYo+fehE7QOTc=' },
  },
  'hash.Uuid': {
    data: { name: 'https://example.com/orders/1042' },
    outputs: { output: '5b714e1b-8e90-537f-af67-8577e161ca69' },
  },
}
