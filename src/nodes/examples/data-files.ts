// Examples of nodes that read and write tables in files and in JSON Lines.
import type { NodeExamples } from './node-example.ts'

export const dataFileExamples: NodeExamples = {
  'data.FormatJsonLines': {
    data: {
      rows: [
        { city: 'Oslo', people: 717710 },
        { city: 'Bergen', people: 291940 },
      ],
    },
    outputs: { output: '{"city":"Oslo","people":717710}\n{"city":"Bergen","people":291940}\n' },
  },
  'data.ParseJsonLines': {
    data: { text: '{"city": "Oslo"}\nnot JSON\n{"city": "Bergen"}', invalid: 'skip' },
    outputs: { rows: [{ city: 'Oslo' }, { city: 'Bergen' }], skipped: 1 },
  },
  'data.ReadCsv': {
    data: { file: 'asset://cities-csv' },
    outputs: {
      rows: [
        { city: 'Oslo', people: 717710 },
        { city: 'Bergen', people: 291940 },
      ],
      columns: ['city', 'people'],
    },
    note: 'The file has the lines `city,people`, `Oslo,717710` and `Bergen,291940`.',
  },
  'data.ReadJsonLines': {
    data: { file: 'asset://cities-jsonl' },
    outputs: { rows: [{ city: 'Oslo' }, { city: 'Bergen' }], columns: ['city'] },
    note: 'The file has the lines `{"city": "Oslo"}` and `{"city": "Bergen"}`.',
  },
  'data.ReadParquet': {
    data: { file: '/api/assets/packages/tables/weather.parquet', columns: ['date', 'town', 'rain'], max_rows: 2 },
    outputs: {
      rows: [
        { date: '2026-01-01', town: 'Northport', rain: 7.8 },
        { date: '2026-01-02', town: 'Northport', rain: 0 },
      ],
      columns: ['date', 'town', 'rain'],
      row_count: 1095,
    },
  },
  'data.WriteCsv': {
    data: {
      rows: [
        { city: 'Oslo', people: 717710 },
        { city: 'Bergen', people: 291940 },
      ],
      name: 'cities',
    },
    outputs: { file: { type: 'dataframe', content_type: 'text/csv; charset=utf-8', name: 'cities.csv' } },
    note: 'The file has the lines `city,people`, `Oslo,717710` and `Bergen,291940`.',
  },
  'data.WriteJsonLines': {
    data: {
      rows: [
        { city: 'Oslo', people: 717710 },
        { city: 'Bergen', people: 291940 },
      ],
      name: 'cities',
    },
    outputs: { file: { type: 'dataframe', content_type: 'application/jsonl', name: 'cities.jsonl' } },
    note: 'Each row is a line of the file.',
  },
  'data.WriteParquet': {
    data: {
      rows: [
        { city: 'Oslo', people: 717710 },
        { city: 'Bergen', people: 291940 },
      ],
      types: { people: 'int' },
      name: 'cities',
    },
    outputs: { file: { type: 'dataframe', content_type: 'application/vnd.apache.parquet', name: 'cities.parquet' } },
    note: 'The file has two columns and two rows.',
  },
}
