/** Drawn on a field of 16 by 16, as lines. */
const PATHS = {
  back: 'M10 3 5 8l5 5',
  branch: 'M4 3v10M12 3v3c0 3-8 2-8 5M2.5 3h3M10.5 3h3M2.5 13h3',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  chevron: 'm6 4 4 4-4 4',
  close: 'm4 4 8 8M12 4l-8 8',
  copy: 'M6 6h7v7H6zM3 10V3h7',
  down: 'M8 3v10m-4-4 4 4 4-4',
  download: 'M8 2v8m-3-3 3 3 3-3M3 13h10',
  edit: 'm3 13 .5-3L11 2.5 13.5 5 6 12.5zM9.5 4 12 6.5',
  external: 'M9 3h4v4M13 3 7 9M11 9v4H3V5h4',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  folder: 'M2 4h4l1.5 2H14v7H2z',
  gear: 'M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4',
  globe: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c2.5 3 2.5 9 0 12M8 2c-2.5 3-2.5 9 0 12',
  link: 'M7 9a2.5 2.5 0 0 0 3.5 0l2-2A2.5 2.5 0 0 0 9 3.5l-1 1M9 7a2.5 2.5 0 0 0-3.5 0l-2 2A2.5 2.5 0 0 0 7 12.5l1-1',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M5 3v10l8-5z',
  plus: 'M8 3v10M3 8h10',
  refresh: 'M13 4v3h-3M13 7a5.3 5.3 0 1 0 .3 3',
  search: 'M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.5 3.5',
  send: 'M2.5 8 13.5 3 10 13.5 7.5 9z',
  stop: 'M4 4h8v8H4z',
  tag: 'M2.5 2.5h5l6 6-5 5-6-6zM5.2 5.2h.01',
  terminal: 'm3 5 3 3-3 3M8 11h5',
  trash: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9',
  undo: 'M5 3 2 6l3 3M2 6h7a4 4 0 0 1 0 8H6',
  upload: 'M8 11V3M5 6l3-3 3 3M3 13h10',
  warning: 'M8 2.5 14.5 13.5h-13zM8 6.5v3M8 11.7v.01',
} as const

export type IconName = keyof typeof PATHS

/** For the eye alone: what it stands beside, or the label of its button, says the same in words. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="glyph" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
)
