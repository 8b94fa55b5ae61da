"""Shapes of the platform's kinds on the global cluster: modules (group cluster.alauda.io), clusters, app releases."""

from __future__ import annotations

from gitops_mc.sandbox.apiserver.machine_schemas import CONDITION
from gitops_mc.sandbox.apiserver.schema import (
    ANY,
    BOOLEAN,
    FREE,
    INTEGER,
    STRING,
    STRING_MAP,
    Schema,
    custom,
    list_of,
    struct,
)

_STRINGS = list_of(STRING)
_TEXT = struct(en=STRING, zh=STRING)
_DEPENDENCIES = list_of(struct("moduleName", instanceName=STRING, moduleName=STRING, versionsMatch=_STRINGS))
_MODULE_NAMES = list_of(struct("moduleName", moduleName=STRING))
_CHARTS = list_of(struct("name releaseName version", name=STRING, releaseName=STRING, version=STRING))

MODULE_INFO = custom(
    spec=struct(
        "version",
        config=FREE,
        entrypoint=STRING,
        selectedCluster=STRING_MAP,
        valuesOverride=FREE,
        version=STRING,
    ),
    status=struct(
        "phase version",
        appReleases=list_of(
            struct(
                "failed name ready synced",
                chartVersions=_CHARTS,
                failed=BOOLEAN,
                lastProbeTime=STRING,
                message=STRING,
                name=STRING,
                namespace=STRING,
                ready=BOOLEAN,
                reason=STRING,
                synced=BOOLEAN,
            )
        ),
        availableVersions=list_of(
            struct(
                "description riskLevel version",
                dependencies=_DEPENDENCIES,
                description=STRING,
                descriptionEn=STRING,
                options=FREE,
                riskLevel=STRING,
                upgradeBefore=_MODULE_NAMES,
                version=STRING,
            )
        ),
        blockReasons=_STRINGS,
        conditions=list_of(
            struct(
                "message reason status type",
                lastProbeTime=STRING,
                lastTransitionTime=STRING,
                message=STRING,
                reason=STRING,
                status=STRING,
                type=STRING,
            )
        ),
        moduleconfigSpecHash=STRING,
        phase=STRING,
        removeIsPrevented=BOOLEAN,
        specHash=STRING,
        transitTimeout=INTEGER,
        transitTimestamp=STRING,
        transitVersion=STRING,
        version=STRING,
    ),
)

_LABELS = struct(
    matchExpressions=list_of(struct("key operator", key=STRING, operator=STRING, values=_STRINGS)),
    matchLabels=STRING_MAP,
)
_AFFINITY = struct(clusterAffinity=_LABELS, clusterAntiAffinity=_LABELS, pluginAntiAffinity=_STRINGS)
_DESCRIPTORS = list_of(
    struct(
        "path x-descriptors",
        description=STRING,
        displayName=STRING,
        path=STRING,
        **{"x-descriptors": _STRINGS},
    )
)
_QUANTITY = Schema(
    type="int-or-string",
    pattern=r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
)
_RESOURCES = struct(
    limits=Schema(type="object", values=_QUANTITY),
    requests=Schema(type="object", values=_QUANTITY),
)
_SIZE = struct(
    "components description name size",
    components=Schema(type="object", values=struct(resources=_RESOURCES)),
    description=_TEXT,
    name=_TEXT,
    size=STRING,
)
_PUBLISHED = struct(
    "deleteable description logo name",
    affinity=_AFFINITY,
    appReleases=list_of(
        struct(
            "chartVersions name",
            chartVersions=_CHARTS,
            installCondition=STRING,
            name=STRING,
            namespace=STRING,
        )
    ),
    cfgFilename=STRING,
    config=FREE,
    crossClusterDependencies=_STRINGS,
    deleteBlockDescription=STRING,
    deleteBlockDescriptionEn=STRING,
    deleteRiskDescription=STRING,
    deleteRiskDescriptionEn=STRING,
    deleteable=BOOLEAN,
    dependencies=_DEPENDENCIES,
    deployDescriptors=_DESCRIPTORS,
    description=_TEXT,
    editDescriptors=_DESCRIPTORS,
    entrypointTemplate=STRING,
    labelCluster=STRING,
    logo=STRING,
    mainChart=STRING,
    mustUpgrade=BOOLEAN,
    name=STRING,
    pluginDependencies=struct(
        crossCluster=struct(
            oneOf=list_of(struct("clusterName pluginName", clusterName=STRING, pluginName=STRING))
        )
    ),
    resourcesBlockRemove=list_of(struct(apiVersion=STRING, kind=STRING, name=STRING, namespace=STRING)),
    skipPlatformConfig=BOOLEAN,
    supportedUpgradeVersions=STRING,
    targetClusterVersions=_STRINGS,
    transitTimeout=INTEGER,
    uiContext=struct(sizeSettings=struct(default=STRING, quotaTip=_TEXT, sizes=list_of(_SIZE))),
    upgradeBefore=_MODULE_NAMES,
    upgradeDescriptors=_DESCRIPTORS,
    upgradeRiskDescription=STRING,
    upgradeRiskDescriptionEn=STRING,
    upgradeRiskLevel=STRING,
    valuesTemplates=STRING_MAP,
    version=STRING,
)

MODULE_CONFIG = custom(
    spec=_PUBLISHED,
    status=struct(readyForDeploy=BOOLEAN, targetClusterVersions=_STRINGS),
)

MODULE_PLUGIN = custom(
    spec=_PUBLISHED,
    status=struct(
        conditions=list_of(CONDITION),
        installed=list_of(
            struct("cluster name phase version", cluster=STRING, name=STRING, phase=STRING, version=STRING)
        ),
        latestVersion=STRING,
        moduleConfigs=list_of(
            struct(
                "name readyForDeploy targetClusterVersions version",
                affinity=_AFFINITY,
                name=STRING,
                readyForDeploy=BOOLEAN,
                targetClusterVersions=_STRINGS,
                version=STRING,
            )
        ),
        specHash=STRING,
        targetClusterVersions=Schema(
            type="object",
            values=struct(
                "description logo moduleConfigSpecHash readyForDeploy version",
                affinity=_AFFINITY,
                description=_TEXT,
                logo=STRING,
                moduleConfigSpecHash=STRING,
                readyForDeploy=BOOLEAN,
                version=STRING,
            ),
        ),
    ),
)

PLATFORM_CLUSTER = custom(
    spec=FREE, status=Schema(type="object", open=True, fields={"conditions": list_of(ANY)})
)
APP_RELEASE = custom(spec=FREE, status=Schema(type="object", open=True, fields={"conditions": list_of(ANY)}))
