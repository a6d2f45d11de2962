// Examples of nodes for lists.
import type { NodeExamples } from './node-example.ts'

export const listExamples: NodeExamples = {
  'list.Accumulate': { data: { list: [120, -30, 45, -60] }, outputs: { output: [120, 90, 135, 75] } },
  'list.Append': {
    data: { list: ['flour', 'sugar'], value: 'butter' },
    outputs: { output: ['flour', 'sugar', 'butter'] },
  },
  'list.Calculate': { data: { list: [20, 25, 30], formula: 'x * 9 / 5 + 32' }, outputs: { output: [68, 77, 86] } },
  'list.Chunk': {
    data: { list: ['Ada', 'Ben', 'Cem', 'Dua', 'Eve'], size: 2 },
    outputs: { output: [['Ada', 'Ben'], ['Cem', 'Dua'], ['Eve']] },
  },
  'list.Compare': {
    data: { a: ['Ada', 'Ben', 'Cem'], b: ['Cem', 'Ada', 'Dua'] },
    outputs: { both: ['Ada', 'Cem'], only_a: ['Ben'], only_b: ['Dua'] },
  },
  'list.Concat': { data: { a: ['Mon', 'Tue'], b: ['Sat', 'Sun'] }, outputs: { output: ['Mon', 'Tue', 'Sat', 'Sun'] } },
  'list.Contains': { data: { list: ['draft', 'sent', 'paid'], value: 'paid' }, outputs: { output: true, index: 2 } },
  'list.Filter': {
    data: {
      list: [
        { city: 'Oslo', degrees: -4 },
        { city: 'Lima', degrees: 19 },
        { city: 'Rome', degrees: 12 },
      ],
      by: 'degrees',
      op: '>',
      value: 10,
    },
    outputs: {
      output: [
        { city: 'Lima', degrees: 19 },
        { city: 'Rome', degrees: 12 },
      ],
    },
  },
  'list.Flatten': { data: { list: [['A1', 'A2'], ['B1'], 'C1'] }, outputs: { output: ['A1', 'A2', 'B1', 'C1'] } },
  'list.Get': { data: { list: ['gold', 'silver', 'bronze'], index: -1 }, outputs: { output: 'bronze' } },
  'list.GroupBy': {
    data: {
      list: [
        { name: 'Ada', team: 'red' },
        { name: 'Ben', team: 'blue' },
        { name: 'Cem', team: 'red' },
      ],
      by: 'team',
    },
    outputs: {
      output: [
        {
          key: 'red',
          count: 2,
          items: [
            { name: 'Ada', team: 'red' },
            { name: 'Cem', team: 'red' },
          ],
        },
        { key: 'blue', count: 1, items: [{ name: 'Ben', team: 'blue' }] },
      ],
    },
  },
  'list.IndexBy': {
    data: {
      list: [
        { code: 'NO', name: 'Norway' },
        { code: 'PE', name: 'Peru' },
      ],
      by: 'code',
      value: 'name',
    },
    outputs: { output: { NO: 'Norway', PE: 'Peru' } },
  },
  'list.Insert': {
    data: { list: ['Rome', 'Oslo'], index: 1, value: 'Lima' },
    outputs: { output: ['Rome', 'Lima', 'Oslo'] },
  },
  'list.Length': { data: { list: ['apple', 'pear', 'plum'] }, outputs: { output: 3 } },
  'list.Pluck': {
    data: { list: [{ user: { name: 'Ada' } }, { user: { name: 'Ben' } }, {}], path: 'user.name', default: 'unknown' },
    outputs: { output: ['Ada', 'Ben', 'unknown'] },
  },
  'list.Range': { data: { start: 10, stop: 50, step: 10 }, outputs: { output: [10, 20, 30, 40] } },
  'list.Reverse': { data: { list: ['first', 'second', 'third'] }, outputs: { output: ['third', 'second', 'first'] } },
  'list.Slice': {
    data: { list: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'], start: 1, end: 4 },
    outputs: { output: ['Tue', 'Wed', 'Thu'] },
  },
  'list.Sort': {
    data: {
      list: [
        { city: 'Oslo', degrees: -4 },
        { city: 'Lima', degrees: 19 },
        { city: 'Rome', degrees: 12 },
      ],
      by: 'degrees',
      descending: true,
    },
    outputs: {
      output: [
        { city: 'Lima', degrees: 19 },
        { city: 'Rome', degrees: 12 },
        { city: 'Oslo', degrees: -4 },
      ],
    },
  },
  'list.Statistics': {
    data: { list: [4, 6, 8] },
    outputs: { sum: 18, count: 3, mean: 6, min: 4, max: 8, median: 6, variance: 4, deviation: 2 },
  },
  'list.Unique': {
    data: { list: ['tea', 'coffee', 'tea', 'water', 'coffee'] },
    outputs: { output: ['tea', 'coffee', 'water'] },
  },
  'list.Window': {
    data: { list: [3, 5, 8, 13], size: 2 },
    outputs: {
      output: [
        [3, 5],
        [5, 8],
        [8, 13],
      ],
    },
  },
  'list.Zip': {
    data: { a: ['Ada', 'Ben'], b: [36, 41] },
    outputs: {
      output: [
        ['Ada', 36],
        ['Ben', 41],
      ],
    },
  },
}
