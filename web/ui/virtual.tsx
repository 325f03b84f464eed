import type { ComponentChildren, JSX, RefObject, VNode } from 'preact'
import { useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Chunk, Chunker } from './virtual-chunks.ts'
import { ScrollKeeper } from './virtual-scroll.ts'

/** What is this near to what can be seen is drawn. */
const MARGIN = '1200px 0px'
/** Of an item that was never drawn. */
const ESTIMATE_PX = 72
/** How many frames are waited for an item to be drawn. */
const PATIENCE = 60

export interface VirtualHandle {
  toEnd(): void
  toTop(): void
  /** Scrolls to an item of the list; the element when it was drawn in time. */
  show(key: string): Promise<HTMLElement | undefined>
}

export interface VirtualProps<T> {
  items: readonly T[]
  /** May be called with anything that was among the items; always the same function. */
  keyOf: (item: T) => string
  /** Always the same function; what it makes has one element at its root. */
  render: (item: T) => JSX.Element
  label: string
  before?: ComponentChildren
  after?: ComponentChildren
  handle?: RefObject<VirtualHandle | null>
  /** The beginning comes near: more may be added there. */
  onNearTop: () => void
  /** Whether the end is kept in sight from now on. */
  onFollow: (following: boolean) => void
}

/** A list of any length, with its end in sight until somebody scrolls up: only what is near to be seen is drawn. */
export function Virtual<T>({
  items,
  keyOf,
  render,
  label,
  before,
  after,
  handle,
  onNearTop,
  onFollow,
}: VirtualProps<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const keeper = useRef<ScrollKeeper>(null)
  const told = useRef({ onNearTop, onFollow })
  told.current = { onNearTop, onFollow }
  const chunker = useMemo(() => new Chunker(keyOf), [keyOf])
  const chunks = chunker.cut(items)
  const drawn = useRef(new Map<number, { chunk: Chunk<T>; node: VNode }>())
  const watch = useMemo(() => watcher(scroller), [])

  useLayoutEffect(() => {
    const kept = new ScrollKeeper(scroller.current!, following => told.current.onFollow(following))
    keeper.current = kept
    const sizes = new ResizeObserver(() => {
      kept.settle()
      if (kept.nearTop) told.current.onNearTop()
    })
    sizes.observe(scroller.current!)
    sizes.observe(list.current!)
    return () => sizes.disconnect()
  }, [])
  useEffect(() => () => watch.end(), [])
  // What was added may be nothing to see.
  useEffect(() => {
    if (keeper.current?.nearTop) told.current.onNearTop()
  }, [items])

  useImperativeHandle<VirtualHandle | null, VirtualHandle>(
    handle ?? null,
    () => ({
      toEnd: () => keeper.current?.toEnd(),
      toTop: () => keeper.current?.toTop(),
      async show(key) {
        const chunk = chunks.find(one => one.items.some(item => keyOf(item) === key))
        for (let frame = 0; chunk && frame < PATIENCE; frame++) {
          const element = list.current?.querySelector<HTMLElement>(`[data-item="${CSS.escape(key)}"]`)
          const place = element ?? list.current?.querySelector(`[data-chunk="${chunk.key}"]`)
          if (place) keeper.current?.show(place)
          if (element) return element
          await new Promise(requestAnimationFrame)
        }
        return undefined
      },
    }),
    [chunks],
  )

  /** The same node as the last time is not looked into again. */
  const nodeOf = (chunk: Chunk<T>, isLast: boolean): VNode => {
    const known = drawn.current.get(chunk.key)
    if (known?.chunk === chunk) return known.node
    const node = (
      <ChunkView key={chunk.key} chunk={chunk} keyOf={keyOf} render={render} watch={watch.add} isNear={isLast} />
    )
    drawn.current.set(chunk.key, { chunk, node })
    return node
  }

  return (
    <div
      class="virtual"
      ref={scroller}
      role="log"
      aria-live="off"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
      tabIndex={0}
      onScroll={() => {
        keeper.current?.scrolled()
        if (keeper.current?.nearTop) onNearTop()
      }}
    >
      <div ref={list} class="virtual-list">
        {before}
        {chunks.map((chunk, at) => nodeOf(chunk, at === chunks.length - 1))}
        {after}
      </div>
    </div>
  )
}

type Watch = (element: Element, onNear: (isNear: boolean) => void) => () => void

/** One observer for all chunks, made when the element that scrolls is there. */
function watcher(root: RefObject<HTMLElement | null>): { add: Watch; end(): void } {
  const heard = new WeakMap<Element, (isNear: boolean) => void>()
  let observer: IntersectionObserver | undefined
  return {
    add(element, onNear) {
      observer ??= new IntersectionObserver(
        entries => {
          for (const { target, isIntersecting } of entries) heard.get(target)?.(isIntersecting)
        },
        { root: root.current, rootMargin: MARGIN },
      )
      heard.set(element, onNear)
      observer.observe(element)
      return () => observer?.unobserve(element)
    },
    end: () => observer?.disconnect(),
  }
}

interface ChunkViewProps<T> extends Pick<VirtualProps<T>, 'keyOf' | 'render'> {
  chunk: Chunk<T>
  watch: Watch
  isNear: boolean
}

function ChunkView<T>({ chunk, keyOf, render, watch, isNear }: ChunkViewProps<T>) {
  const ref = useRef<HTMLDivElement>(null)
  const [near, setNear] = useState(isNear)
  const measured = useRef({ height: 0, count: 0 })
  useLayoutEffect(
    () =>
      watch(ref.current!, isNear => {
        // Whoever works in there with keys stays there.
        if (!isNear && ref.current?.contains(document.activeElement)) return
        const { offsetHeight: height, childElementCount: drawn } = ref.current!
        if (!isNear && drawn > 0) measured.current = { height, count: drawn }
        setNear(isNear)
      }),
    [],
  )
  const { height, count: before } = measured.current
  const room = height + (chunk.items.length - before) * ESTIMATE_PX
  return (
    <div ref={ref} data-chunk={chunk.key} style={{ height: near ? '' : `${room}px` }}>
      {near &&
        chunk.items.map(item => (
          <div key={keyOf(item)} data-item={keyOf(item)}>
            {render(item)}
          </div>
        ))}
    </div>
  )
}
