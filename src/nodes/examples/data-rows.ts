// Examples of nodes that select, clean and order the rows of a table.
import type { NodeExamples } from './node-example.ts'

export const dataRowExamples: NodeExamples = {
  'data.AddColumn': {
    data: {
      rows: [
        { item: 'tea', price: 3, count: 40 },
        { item: 'cup', price: 8, count: 5 },
      ],
      name: 'value',
      formula: 'price * count',
    },
    outputs: {
      output: [
        { item: 'tea', price: 3, count: 40, value: 120 },
        { item: 'cup', price: 8, count: 5, value: 40 },
      ],
    },
  },
  'data.Convert': {
    data: {
      rows: [
        { day: '2026-03-01', sold: '1.250,5' },
        { day: '2026-03-02', sold: '' },
      ],
      kinds: { sold: 'float' },
      decimal: ',',
    },
    outputs: {
      output: [
        { day: '2026-03-01', sold: 1250.5 },
        { day: '2026-03-02', sold: null },
      ],
      invalid: 0,
    },
  },
  'data.Distinct': {
    data: {
      rows: [
        { city: 'Oslo', year: 2025 },
        { city: 'Lima', year: 2025 },
        { city: 'Oslo', year: 2026 },
      ],
      by: ['city'],
      keep: 'last',
    },
    outputs: {
      output: [
        { city: 'Oslo', year: 2026 },
        { city: 'Lima', year: 2025 },
      ],
      removed: 1,
    },
  },
  'data.Fill': {
    data: {
      rows: [
        { shop: 'Harbour', sold: 3 },
        { shop: null, sold: null },
      ],
      previous: ['shop'],
      values: { sold: 0 },
    },
    outputs: {
      output: [
        { shop: 'Harbour', sold: 3 },
        { shop: 'Harbour', sold: 0 },
      ],
    },
  },
  'data.Filter': {
    data: {
      rows: [
        { city: 'Oslo', degrees: -4 },
        { city: 'Lima', degrees: 19 },
        { city: 'Rome', degrees: 12 },
      ],
      formula: 'degrees > 10',
    },
    outputs: {
      output: [
        { city: 'Lima', degrees: 19 },
        { city: 'Rome', degrees: 12 },
      ],
      rest: [{ city: 'Oslo', degrees: -4 }],
    },
  },
  'data.Select': {
    data: {
      rows: [{ id: 1, name: 'Ada', phone: '555-1' }],
      columns: ['name', 'phone'],
      rename: { phone: 'telephone' },
    },
    outputs: { output: [{ name: 'Ada', telephone: '555-1' }] },
  },
  'data.Sort': {
    data: {
      rows: [
        { team: 'red', points: 4 },
        { team: 'blue', points: 9 },
        { team: 'green', points: 7 },
      ],
      by: ['-points'],
    },
    outputs: {
      output: [
        { team: 'blue', points: 9 },
        { team: 'green', points: 7 },
        { team: 'red', points: 4 },
      ],
    },
  },
}
