// Examples of nodes for ZIP archives.
import type { NodeExamples } from './node-example.ts'

export const archiveExamples: NodeExamples = {
  'archive.List': {
    data: { archive: '/api/assets/packages/office/accounts.zip' },
    outputs: {
      entries: [
        { name: '2026-q1.csv', kind: 'file', encrypted: false, size: 91, compressed_size: 87 },
        { name: '2026-q2.csv', kind: 'file', encrypted: false, size: 92, compressed_size: 88 },
        { name: '2026-q3.csv', kind: 'file', encrypted: false, size: 92, compressed_size: 87 },
        { name: '2026-q4.csv', kind: 'file', encrypted: false, size: 92, compressed_size: 88 },
      ],
      count: 4,
    },
  },
  'archive.Unzip': {
    data: { archive: '/api/assets/packages/office/accounts.zip', names: ['2026-q1.csv'] },
    outputs: { files: [{ type: 'dataframe', content_type: 'text/csv', name: '2026-q1.csv' }], names: ['2026-q1.csv'] },
    note: 'The file is shown without its bytes.',
  },
  'archive.Zip': {
    data: {
      files: ['/api/assets/packages/pictures/photos/lake.jpg', '/api/assets/packages/pictures/photos/dunes.jpg'],
      name: 'photos.zip',
    },
    outputs: { archive: { type: 'document', content_type: 'application/zip', name: 'photos.zip' } },
    note: 'The file is shown without its bytes.',
  },
}
