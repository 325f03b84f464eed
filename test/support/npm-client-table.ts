/** The test that exercises it, by what stands in its name after `npm-client-`. */
export const PLACES = ['cloud', 'conversation', 'events', 'library', 'settings', 'workspace'] as const
export type Place = (typeof PLACES)[number]

const ACP = 'for agents of other makers, which are not run here'
const ELSEWHERE = 'asks a host of accounts, organizations or automations'
const INSIDE = 'never called from outside'
const NO_SERVER = 'does its work without a server'
const PAGE = 'needs the document of a page'

type Reason = typeof ACP | typeof ELSEWHERE | typeof INSIDE | typeof NO_SERVER | typeof PAGE
type Uses = Partial<Record<Place | Reason, string>>

/** Where each method of each exported class is exercised, or why it is not. */
export const CLASSES: Record<string, Uses> = {
  ServerClient: { settings: 'getRoot getAlive getHealth getReady getServerInfo close' },
  HttpClient: {
    workspace: 'buildUrl request requestWithBodyOnGet parseNodeResponse parseResponse get post patch delete close',
    settings: 'put',
  },
  HttpError: {},
  AgentServerVersionError: {},
  AgentServerClient: { settings: 'request close' },
  OpenHandsClient: { settings: 'get post patch put delete', [INSIDE]: 'close' },

  Agent: {},
  Conversation: {},
  RemoteConversation: {
    conversation: `start loadHooks getHookConfig conversationStats sendMessage run pause setConfirmationPolicy
      sendConfirmationResponse setTitle askAgent getAgentFinalResponse switchProfile switchLlm switchAcpModel startGoal
      stopGoal resumeGoal fork navigateTo downloadTrajectory condense setSecurityAnalyzer updateSecrets
      startWebSocketClient stopWebSocketClient close`,
  },
  ConversationClient: {
    conversation: `createConversation sendEvent pauseConversation interruptConversation runConversation startGoal stopGoal
      resumeGoal askAgent respondToConfirmation getAgentFinalResponse setConfirmationPolicy condenseConversation
      setSecurityAnalyzer updateSecrets forkConversation navigateConversation switchProfile switchLLM switchAcpModel close`,
    events: `searchConversations countConversations getConversations getConversation updateConversation deleteConversation
      searchEvents getEvent getEvents getEventCount`,
  },
  ConversationManager: {
    events: `searchConversations countConversations getConversations getAllConversations getConversation createConversation
      loadConversation searchACPConversations countACPConversations getACPConversations getAllACPConversations
      getACPConversation createACPConversation switchProfile deleteConversation updateConversation close`,
  },
  RemoteState: {
    events: `getConversationInfo normalizeFullState refresh updateStateFromEvent createStateUpdateCallback
      getExecutionStatus getAgentStatus getConfirmationPolicy getActivatedKnowledgeSkills getAgent getWorkspace
      getPersistenceDir modelDump modelDumpJson`,
    [NO_SERVER]: 'setAgentStatus',
  },
  RemoteEventsList: {
    events: `search count getEventById getEventsById addEvent append createDefaultCallback length getEvent getEvents`,
  },
  WebSocketCallbackClient: { events: 'start stop connect scheduleReconnect', [INSIDE]: 'reportError' },
  BashWebSocketClient: { events: 'start stop connect scheduleReconnect', [INSIDE]: 'reportError' },

  Workspace: {},
  RemoteWorkspace: {
    workspace: `startWorkspaceSession deleteWorkspaceSession executeCommand fileUpload fileDownload gitChanges gitDiff
      uploadText uploadFileObject downloadAsText downloadAsBlob close`,
    [PAGE]: 'downloadAndSave',
  },
  BashClient: {
    workspace: `searchEvents getEvent getEvents batchGetEvents startCommand executeCommand clearEvents close
      normalizeRequest`,
  },
  FileClient: {
    workspace: `searchSubdirectories getHome downloadFile downloadTextFile uploadFile uploadTextFile downloadTrajectory
      close`,
  },
  WorkspacesClient: {
    workspace: `listWorkspaces addWorkspaces deleteWorkspace addWorkspaceParents deleteWorkspaceParent close
      ensureWorkspacesSupported`,
  },
  VSCodeClient: { workspace: 'getUrl getStatus close' },
  DesktopClient: { workspace: 'getUrl close' },

  SettingsClient: {
    settings: `getAgentSchema getSettings updateSettings createMcpServer patchMcpServer deleteMcpServer listSecrets
      upsertSecret getSecret deleteSecret getConversationSchema listProfiles getProfile saveProfile deleteProfile
      renameProfile close`,
  },
  ProfilesClient: {
    settings: 'listProfiles getProfile saveProfile deleteProfile renameProfile activateProfile validateProfile close',
  },
  AgentProfilesClient: {
    settings: `listAgentProfiles getAgentProfile saveAgentProfile deleteAgentProfile renameAgentProfile
      activateAgentProfile materializeAgentProfile close`,
  },
  MetaProfilesClient: {
    settings: 'listMetaProfiles getMetaProfile saveMetaProfile deleteMetaProfile activateMetaProfile close',
  },
  LLMMetadataClient: {
    settings: `getProviders getModels getVerifiedModels getOpenAISubscriptionModels getOpenAISubscriptionStatus
      startOpenAISubscriptionDeviceLogin pollOpenAISubscriptionDeviceLogin logoutOpenAISubscription close`,
  },

  SkillsClient: {
    library: `getSkills syncSkills installSkill listInstalledSkills getInstalledSkill toggleSkill uninstallSkill
      refreshSkill getMarketplace close`,
  },
  PluginsClient: {
    library: `getPlugins getPluginsMarketplace installPlugin listInstalledPlugins getInstalledPlugin setPluginEnabled
      uninstallPlugin refreshPlugin close`,
  },
  SubAgentsClient: { library: 'getSubAgents close' },
  HooksClient: { library: 'loadHooks close' },
  ToolClient: { library: 'listTools close' },
  MCPClient: { library: 'testServer startOAuth getOAuthStatus submitOAuthCallback close' },

  SharedClient: { settings: 'getSharedConversations getSharedConversation searchSharedEvents close' },
  CloudClient: {
    cloud: `getSettingsWithDerivedFields saveSettings getSettingsSchema getConversationSettingsSchema listProfiles
      getProfile saveProfile deleteProfile renameProfile activateProfile listSecrets createSecret updateSecret
      deleteSecret listSkills searchRepositories getInstallations getRepositoryBranches getSuggestedTasks searchModels
      searchProviders searchConversations getConversations createConversation downloadConversation deleteConversation
      updateConversationPublicFlag pauseSandbox resumeSandbox getSandboxes readConversationFile getConversationStartTask
      switchConversationProfile`,
    [ELSEWHERE]: `startDeviceFlow pollForToken getOrganizations getCurrentApiKey getOrganizationMe listAutomations
      getAutomation updateAutomation deleteAutomation dispatchAutomation listAutomationRuns downloadAutomationTarball
      getAutomationHealth`,
    [ACP]: 'switchConversationAcpModel',
    [INSIDE]: 'request getSettings profileBasePath buildUpstreamAuthHeaders requestDirect requestThroughProxy',
  },
  DeviceFlowError: {},
}

/** Where each exported function is called, or why it is not. */
export const FUNCTIONS: Uses = {
  conversation: 'createConversation createConversationAuto',
  events: 'isMessageEvent isActionEvent isObservationEvent isObservationLike',
  library: 'hookConfigToJSON hookConfigFromData',
  settings: `assertAgentServerSupports clearAgentServerInfoCache compareAgentServerVersions getCachedAgentServerInfo
    isAgentServerVersionError deriveSwitchPlan`,
  workspace: 'createWorkspace createWorkspaceAuto',
  [ELSEWHERE]: 'isOpenHandsCloudHost pollForToken startDeviceFlow',
  [NO_SERVER]: `createBaseEvent generateEventId isAgentErrorEvent isCondensationEvent isConversationErrorEvent
    isHookExecutionEvent createConfirmationPolicy createSecurityAnalyzer createLLM createOpenRouterLLM
    generateSystemPrompt getAcpProvider createEmptyHookConfig createSuccessResult getHooksForEvent hasHooksForEvent
    hookResultShouldContinue isHookConfigEmpty matcherMatches mergeHookConfigs normalizeHooksInput`,
}

/** What never talks to a server: an agent in the client's own process with all it needs, and words. */
export const SERVERLESS = `LocalConversation LocalWorkspace LLM OpenRouterLLM StuckDetector SecretRegistry StaticSecretSource
  CallableSecretSource AlwaysConfirm NeverConfirm RiskBasedConfirm ToolBasedConfirm CompositeConfirm AllowlistAnalyzer
  CompositeAnalyzer NoOpAnalyzer PatternBasedAnalyzer ACP_PROVIDERS ACP_SETTINGS_KEYS AGENT_SERVER_VERSION_ERROR_CODE
  AgentExecutionStatus AgentServerFeatureRequirements ConversationExecutionStatus ConversationSortOrder EventSortOrder
  DEFAULT_STUCK_THRESHOLDS DEFAULT_SYSTEM_PROMPT MINIMAL_SYSTEM_PROMPT TOOL_DESCRIPTIONS HOOK_EVENT_FIELDS HookDecision
  HookEventType HookType`

export const words = (text = ''): string[] => text.split(/\s+/).filter(Boolean)

/** All that is to be exercised in one place, as `watched` tells it. */
export const usedIn = (place: Place): string[] => [
  ...words(FUNCTIONS[place]),
  ...Object.entries(CLASSES).flatMap(([name, uses]) => words(uses[place]).map(method => `${name}.${method}`)),
]

export const unused = (called: ReadonlySet<string>, place: Place): string[] =>
  usedIn(place).filter(name => !called.has(name))
