// Examples of nodes for assets.
import type { NodeExamples } from './node-example.ts'

export const assetExamples: NodeExamples = {
  'asset.List': {
    data: { content_type: 'text/plain', limit: 5 },
    outputs: {
      assets: [
        {
          type: 'file',
          uri: '/api/storage/assets/k3v9',
          asset_id: 'k3v9',
          content_type: 'text/plain; charset=utf-8',
          size: 22,
          sha256: '6ef11916b98fdbc732706c15e54fe004eb4977b2ea23639bae32af9aba7889e5',
          name: 'notice.txt',
        },
      ],
      count: 1,
    },
    note: 'The user has one such file, that of the example of asset.Save.',
  },
  'asset.Load': {
    data: { asset: 'asset://notice' },
    outputs: { text: 'Back at two o’clock.' },
    note: 'The file is a note on a door.',
  },
  'asset.Save': {
    data: { data: 'Back at two o’clock.', name: 'notice.txt' },
    outputs: {
      asset: {
        type: 'file',
        uri: '/api/storage/assets/k3v9',
        asset_id: 'k3v9',
        content_type: 'text/plain; charset=utf-8',
        size: 22,
        sha256: '6ef11916b98fdbc732706c15e54fe004eb4977b2ea23639bae32af9aba7889e5',
        name: 'notice.txt',
      },
    },
    note: 'Each asset has an id of its own.',
  },
}
