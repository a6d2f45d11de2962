// Examples of nodes for documents. The files that they read come with the service.
import type { NodeExamples } from './node-example.ts'

export const documentExamples: NodeExamples = {
  'document.Chunk': {
    data: { text: 'Tea is picked in spring. It dries in the sun. Then it is packed.', size: 30, overlap: 0 },
    outputs: {
      chunks: [
        { text: 'Tea is picked in spring.', start: 0, end: 24 },
        { text: 'It dries in the sun.', start: 25, end: 45 },
        { text: 'Then it is packed.', start: 46, end: 64 },
      ],
      texts: ['Tea is picked in spring.', 'It dries in the sun.', 'Then it is packed.'],
    },
  },
  'document.DocxText': {
    data: { document: '/api/assets/packages/office/handbook.docx' },
    note: 'The text and the HTML of the file are too long to be shown.',
  },
  'document.HtmlText': {
    data: { document: '/api/assets/packages/office/festival.html' },
    outputs: {
      title: 'Harbour Book Festival',
      links: [
        { url: 'https://festival.example/clouds', text: 'Clouds over the harbour' },
        { url: 'https://festival.example/bread', text: 'Bread, slowly' },
        { url: 'https://festival.example/islands', text: 'Maps of small islands' },
        { url: 'https://festival.example/bridges', text: 'How bridges stand' },
        { url: 'https://festival.example/ferry', text: 'ferry' },
      ],
    },
  },
  'document.PdfInfo': {
    data: { document: '/api/assets/packages/office/invoice.pdf' },
    outputs: { page_count: 1, pages: [{ page: 1, width: 595, height: 842 }] },
  },
  'document.PdfPages': {
    data: { document: '/api/assets/packages/office/invoice.pdf', dpi: 100 },
    outputs: { page_count: 1 },
    note: '`images` has a picture of the page.',
  },
  'document.PdfText': {
    data: { document: '/api/assets/packages/office/invoice.pdf' },
    outputs: {
      text: 'Larch & Linden Joinery\n12 Mill Lane, 1000 Somewhere\nInvoice LL-2026-0117\nDate: 2026-03-14\nDue: 2026-04-13\nTo: Paper Boat Books, 3 Harbour Street, 2000 Elsewhere\nNo Item Quantity Price Amount\n1 Oak shelf, 120 cm 4 89.00 356.00\n2 Wall bracket, pair 8 12.50 100.00\n3 Reading lamp 3 54.90 164.70\n4 Felt pads, 20 pieces 5 3.20 16.00\n5 Delivery and assembly 1 75.00 75.00\nNet 711.70\nVAT 20 % 142.34\nTotal EUR 854.04\nPayable within 30 days. Thank you.',
      page_count: 1,
    },
  },
  'document.ReadXlsx': {
    data: { document: '/api/assets/packages/office/price-list.xlsx', sheet: 'Stationery' },
    outputs: {
      rows: [
        { code: 'S-201', title: 'Notebook, dotted', price: 8.5, stock: 60 },
        { code: 'S-202', title: 'Pencils, a dozen', price: 6.9, stock: 35 },
        { code: 'S-203', title: 'Ink, blue', price: 11.2, stock: 14 },
      ],
      sheet: 'Stationery',
      sheets: ['Books', 'Stationery'],
    },
  },
  'document.WriteXlsx': {
    data: {
      rows: [
        { item: 'tea', price: 3 },
        { item: 'cup', price: 8 },
      ],
      sheet: 'Prices',
      name: 'prices.xlsx',
    },
    outputs: {
      document: {
        type: 'document',
        content_type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
        name: 'prices.xlsx',
      },
    },
    note: 'The file is shown without its bytes.',
  },
}
